import { Fault } from '../core/errors.ts'
import { parseJson } from '../core/json-text.ts'
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

/** The key of a client that cannot set headers. */
export function tokenOf(body: unknown): string | undefined {
  if (!isObject(body) || !isToolCall(body) || !isObject(body.params)) return undefined
  const { arguments: args } = body.params
  return isObject(args) && typeof args.auth_token === 'string' ? args.auth_token : undefined
}
