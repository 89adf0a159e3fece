import type { IncomingHttpHeaders } from 'node:http'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'
import { headerOf, type RequestId } from './wire.ts'

export const MODERN_VERSION = '2026-07-28'

/** A modern request that the fast path supports. */
export type PlainRequest =
  | { readonly method: 'tools/list'; readonly id: RequestId }
  | { readonly method: 'tools/call'; readonly id: RequestId; readonly name: string; readonly args: Fields }
  | { readonly method: 'tasks/get' | 'tasks/cancel'; readonly id: RequestId; readonly taskId: string }
  | {
      readonly method: 'tasks/update'
      readonly id: RequestId
      readonly taskId: string
      readonly responses: Fields
    }

const BODY_KEYS = new Set(['jsonrpc', 'id', 'method', 'params'])
const LIST_KEYS = new Set(['_meta'])
const CALL_KEYS = new Set(['name', 'arguments', '_meta'])
const BARE_CALL_KEYS = new Set(['name', 'arguments'])
const TASK_KEYS = new Set(['taskId', '_meta'])
const UPDATE_KEYS = new Set(['taskId', 'inputResponses', '_meta'])

/** Reads a plain request about tools or tasks. The SDK handles everything else, so that each error has one source. */
export function readPlainRequest(headers: IncomingHttpHeaders, body: unknown): PlainRequest | undefined {
  const message = readEnvelope(body)
  if (message === undefined || !hasHeaders(headers, message)) return undefined
  const { id, method, params } = message
  switch (method) {
    case 'tools/list':
      return hasOnly(params, LIST_KEYS) ? { method, id } : undefined
    case 'tools/call': {
      const { name, arguments: args = {} } = params
      if (!hasOnly(params, CALL_KEYS) || !isObject(args) || !isNamed(headers, name)) return undefined
      return { method, id, name, args }
    }
    case 'tasks/get':
    case 'tasks/cancel': {
      const { taskId } = params
      return hasOnly(params, TASK_KEYS) && isNamed(headers, taskId) ? { method, id, taskId } : undefined
    }
    case 'tasks/update': {
      const { taskId, inputResponses: responses = {} } = params
      if (!hasOnly(params, UPDATE_KEYS) || !isNamed(headers, taskId)) return undefined
      return areBare(responses) ? { method, id, taskId, responses } : undefined
    }
    default:
      return undefined
  }
}

/** A legacy tool call that needs no SDK. */
export function readPlainCall(
  headers: IncomingHttpHeaders,
  body: unknown,
): Extract<PlainRequest, { method: 'tools/call' }> | undefined {
  if (!isSupported(headers)) return undefined
  if (!isObject(body) || body.jsonrpc !== '2.0' || !hasOnly(body, BODY_KEYS)) return undefined
  const { id, method, params } = body
  if (!isRequestId(id) || method !== 'tools/call' || !isObject(params)) return undefined
  const { name, arguments: args = {} } = params
  if (!hasOnly(params, BARE_CALL_KEYS) || typeof name !== 'string' || !isObject(args)) return undefined
  return { method, id, name, args }
}

/** The revision from which on clients of sessions accept events without data. */
const PRIMED_FROM = '2025-11-25'

export function primes(headers: IncomingHttpHeaders): boolean {
  const version = headerOf(headers, 'mcp-protocol-version')
  return version !== undefined && version >= PRIMED_FROM && isSupported(headers)
}

/** Whether the revision of a legacy request is supported; without the header it is. */
export function isSupported(headers: IncomingHttpHeaders): boolean {
  const version = headerOf(headers, 'mcp-protocol-version')
  return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version)
}

export interface Enveloped {
  readonly id: RequestId
  readonly method: string
  readonly params: Fields
}

/** Undefined if the envelope is invalid or unusual. */
export function readEnvelope(body: unknown): Enveloped | undefined {
  if (!isObject(body) || body.jsonrpc !== '2.0' || !hasOnly(body, BODY_KEYS)) return undefined
  const { id, method, params } = body
  if (!isRequestId(id) || typeof method !== 'string' || !isObject(params)) return undefined
  return isObject(params._meta) && isGoodEnvelope(params._meta) ? { id, method, params } : undefined
}

/** Whether the required headers match the message. */
export function hasHeaders(headers: IncomingHttpHeaders, { method }: Enveloped): boolean {
  return headers['mcp-protocol-version'] === MODERN_VERSION && headers['mcp-method'] === method
}

function isNamed(headers: IncomingHttpHeaders, name: unknown): name is string {
  return typeof name === 'string' && decodeName(headerOf(headers, 'mcp-name')) === name
}

/** Plain responses; the SDK handles the others. */
function areBare(responses: unknown): responses is Fields {
  if (!isObject(responses)) return false
  return Object.values(responses).every((one) => isObject(one) && !('method' in one) && !('result' in one))
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function hasOnly(object: object, keys: ReadonlySet<string>): boolean {
  for (const key of Object.keys(object)) if (!keys.has(key)) return false
  return true
}

/** Clients send the same envelope with each request, so the verdict of the SDK is cached. */
const goodEnvelopes = new Set<string>()
const MAX_KEPT = 1_000
const MAX_KEPT_LENGTH = 4_096

function isGoodEnvelope(meta: Fields): boolean {
  if (meta[PROTOCOL_VERSION_META_KEY] !== MODERN_VERSION) return false
  const { progressToken } = meta
  if (progressToken !== undefined && !isRequestId(progressToken)) return false
  const envelope = {
    [PROTOCOL_VERSION_META_KEY]: MODERN_VERSION,
    [CLIENT_INFO_META_KEY]: meta[CLIENT_INFO_META_KEY],
    [CLIENT_CAPABILITIES_META_KEY]: meta[CLIENT_CAPABILITIES_META_KEY],
    [LOG_LEVEL_META_KEY]: meta[LOG_LEVEL_META_KEY],
  }
  const key = JSON.stringify(envelope)
  if (goodEnvelopes.has(key)) return true
  const body = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: envelope } }
  if (classifyInboundRequest({ httpMethod: 'POST', body }).kind !== 'modern') return false
  if (goodEnvelopes.size >= MAX_KEPT) goodEnvelopes.clear()
  if (key.length <= MAX_KEPT_LENGTH) goodEnvelopes.add(key)
  return true
}

const SENTINEL = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The value of Mcp-Name, which may be in base64; undefined if it is missing or malformed. */
export function decodeName(value: string | undefined): string | undefined {
  const encoded = value?.startsWith('=?base64?') ? SENTINEL.exec(value)?.[1] : null
  if (encoded === null || value === undefined) return value
  try {
    return encoded === undefined ? undefined : utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}
