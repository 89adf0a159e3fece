import { Fault } from '../core/errors.ts'
import { parseJson } from '../core/json-text.ts'
import { META_PREFIX } from './identity.ts'
import { isObject } from './wire.ts'

export interface Message {
  readonly body: unknown
  /** What our rules for JSON refuse although it is JSON. A tool call can be told so as any other wrong input. */
  readonly flaw?: Fault
}

/** The arguments of a tool stand two levels down in the message, and may be as deep as the body of a REST call. */
const ARGUMENTS_LEVEL = 2

/** The message in the body of a POST; undefined if it is not JSON. */
export function readMessage(text: string): Message | undefined {
  try {
    return { body: parseJson(text, ARGUMENTS_LEVEL) }
  } catch (flaw) {
    if (!(flaw instanceof Fault)) throw flaw
    try {
      return { body: JSON.parse(text), flaw }
    } catch {
      return undefined
    }
  }
}

export function isToolCall(body: unknown): boolean {
  return isObject(body) && body.method === 'tools/call'
}

export function isListening(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen'
}

/** The key of a client that cannot set headers: an argument of the tool, or else in `_meta`. */
export function tokenOf(body: unknown): string | undefined {
  if (!isObject(body) || !isObject(body.params)) return undefined
  const { arguments: args, _meta: meta } = body.params
  const given = isToolCall(body) && isObject(args) ? args.auth_token : undefined
  const token = given ?? (isObject(meta) ? meta[TOKEN] : undefined)
  return typeof token === 'string' ? token : undefined
}

const TOKEN = `${META_PREFIX}auth_token`
