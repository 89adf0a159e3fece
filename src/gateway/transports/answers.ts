import type { JSONRPCMessage } from '@modelcontextprotocol/client'

/** The maximum size of a response: to a call, and to any other request. */
export interface AnswerLimits {
  readonly call: number
  readonly other: number
}

/** A list of tools may be larger than the result of a call. */
export const MAX_LIST_BYTES = 8 * 1024 * 1024

/** JSON-RPC error codes outside of the reserved range, for responses that are replaced. */
export const TOO_LARGE = -31_001
export const STREAM_ENDED = -31_002

export type MessageId = string | number

const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

export function limitFor(message: JSONRPCMessage, limits: AnswerLimits): number {
  return 'method' in message && CALLS.has(message.method) ? limits.call : limits.other
}

/** The id of a message that expects a response. */
export function requestId(message: JSONRPCMessage): MessageId | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined
}

/** The id of the request that a message cancels. */
export function cancelledId(message: JSONRPCMessage): MessageId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined
  const id = message.params?.requestId
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Replaces a response, so that the SDK rejects the right request immediately. */
export function standIn(id: MessageId, code: typeof TOO_LARGE | typeof STREAM_ENDED): JSONRPCMessage {
  const message = code === TOO_LARGE ? 'The answer is too large.' : 'The stream ended before the answer.'
  return { jsonrpc: '2.0', id, error: { code, message } }
}

const FIRST_ID = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|\d+)\s*,/
const LAST_ID = /,\s*"id"\s*:\s*("[^"\\]*"|\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/** The id in a message of which only both ends are known. Servers write the id first or last. */
export function idInEnds(head: string, tail: string): MessageId | undefined {
  const [, id] = FIRST_ID.exec(head) ?? LAST_ID.exec(tail) ?? []
  return id === undefined ? undefined : id.startsWith('"') ? id.slice(1, -1) : Number(id)
}
