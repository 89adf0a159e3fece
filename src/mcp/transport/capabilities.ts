import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'
import type { Call, TaskMode } from '../tools/tool.ts'

/** The Tasks extension of 2026-07-28. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** What a request says of itself and of its client. */
export interface RequestMeta {
  readonly meta: Fields | undefined
  readonly tasks: TaskMode | undefined
}

/** Of the params of a request, as they came. */
export function readMeta(params: unknown): RequestMeta {
  if (!isObject(params)) return { meta: undefined, tasks: undefined }
  const meta = isObject(params._meta) ? params._meta : undefined
  return { meta, tasks: taskModeOf(meta, params.task) }
}

/** The same where the SDK has taken the params apart. */
export function metaFromSdk({ mcpReq }: ServerContext, task?: unknown): RequestMeta {
  const meta: Fields = { ...mcpReq._meta, ...mcpReq.envelope }
  return { meta, tasks: taskModeOf(meta, task) }
}

/** In the modern era only what the client declares counts; before, only what the request asks for. */
function taskModeOf(meta: Fields | undefined, task: unknown): TaskMode | undefined {
  if (meta !== undefined && PROTOCOL_VERSION_META_KEY in meta) {
    const { extensions } = capabilitiesIn(meta)
    return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]) ? 'handle' : undefined
  }
  return isObject(task) ? 'task' : undefined
}

/** Whether the client can show its user a form. */
export function elicits({ meta }: Pick<Call, 'meta'>): boolean {
  const { elicitation } = capabilitiesIn(meta ?? {})
  return isObject(elicitation) && ('form' in elicitation || !('url' in elicitation))
}

function capabilitiesIn(meta: Fields): Fields {
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY]
  return isObject(capabilities) ? capabilities : {}
}

export function tasksRequired(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  })
}
