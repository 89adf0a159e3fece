import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'
import type { Call, Repeat, TaskMode } from '../tools/tool.ts'
import { peerCapabilities } from './peer.ts'

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

export interface RequestMeta {
  readonly meta: Fields | undefined
  readonly tasks: TaskMode | undefined
  readonly repeat: Repeat | undefined
}

/** Reads the params of a request. */
export function readMeta(params: unknown): RequestMeta {
  if (!isObject(params)) return { meta: undefined, tasks: undefined, repeat: undefined }
  const meta = isObject(params._meta) ? params._meta : undefined
  const repeat = repeatOf(meta, params.requestState, params.inputResponses)
  return { meta, tasks: taskModeOf(meta, params.task), repeat }
}

/** Reads the request as the SDK has parsed it. */
export function metaFromSdk({ mcpReq }: ServerContext, task?: unknown): RequestMeta {
  const meta: Fields = { ...mcpReq._meta, ...mcpReq.envelope }
  const repeat = repeatOf(meta, mcpReq.requestState(), mcpReq.inputResponses)
  return { meta, tasks: taskModeOf(meta, task), repeat }
}

export function isModern({ meta }: Pick<Call, 'meta'>): boolean {
  return meta !== undefined && PROTOCOL_VERSION_META_KEY in meta
}

/** Only requests of the modern era are repeated with the requested input. */
function repeatOf(meta: Fields | undefined, state: unknown, responses: unknown): Repeat | undefined {
  if (!isModern({ meta }) || (state === undefined && responses === undefined)) return undefined
  return {
    state: typeof state === 'string' ? state : undefined,
    responses: isObject(responses) ? responses : {},
  }
}

/** In the modern era the declared capability counts, in the legacy era the task parameter. */
function taskModeOf(meta: Fields | undefined, task: unknown): TaskMode | undefined {
  if (meta !== undefined && isModern({ meta })) {
    const { extensions } = capabilitiesIn(meta)
    return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]) ? 'handle' : undefined
  }
  return isObject(task) ? 'task' : undefined
}

/** What a client can show to its user. */
export interface Elicits {
  readonly form: boolean
  readonly url: boolean
}

/** Modern clients declare it with each request; legacy clients in their handshake. */
export function elicitsOf({ meta, peer }: Pick<Call, 'meta' | 'peer'>): Elicits {
  const declared = peer?.capabilities ?? peerCapabilities(capabilitiesIn(meta ?? {}))
  return { form: declared.has('elicitation.form'), url: declared.has('elicitation.url') }
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
