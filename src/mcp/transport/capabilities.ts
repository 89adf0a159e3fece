import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'
import type { Call, TaskMode } from '../tools/tool.ts'

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

export interface RequestMeta {
  readonly meta: Fields | undefined
  readonly tasks: TaskMode | undefined
}

/** Reads the params of a request. */
export function readMeta(params: unknown): RequestMeta {
  if (!isObject(params)) return { meta: undefined, tasks: undefined }
  const meta = isObject(params._meta) ? params._meta : undefined
  return { meta, tasks: taskModeOf(meta, params.task) }
}

/** Reads the request as the SDK has parsed it. */
export function metaFromSdk({ mcpReq }: ServerContext, task?: unknown): RequestMeta {
  const meta: Fields = { ...mcpReq._meta, ...mcpReq.envelope }
  return { meta, tasks: taskModeOf(meta, task) }
}

/** In the modern era the declared capability counts, in the legacy era the task parameter. */
function taskModeOf(meta: Fields | undefined, task: unknown): TaskMode | undefined {
  if (meta !== undefined && PROTOCOL_VERSION_META_KEY in meta) {
    const { extensions } = capabilitiesIn(meta)
    return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]) ? 'handle' : undefined
  }
  return isObject(task) ? 'task' : undefined
}

/** Whether the client can show a form. */
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
