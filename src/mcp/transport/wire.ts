import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from '@modelcontextprotocol/server'
import { ERRORS, type Fault } from '../../core/errors.ts'
import { inTurns, type JsonPieces } from '../../engine/stored-json.ts'
import { pipeBody, sendText } from '../../http/response.ts'
import { isObject } from '../../util/guards.ts'
import { errorBody } from '../tools/tool.ts'

export type RequestId = string | number

/** A response to a request that reaches no tool. */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: object
  readonly headers?: Readonly<Record<string, string>>
}

export const UNPARSABLE: Refusal = { status: 400, code: PARSE_ERROR, message: 'The body is not JSON.' }
export const BROKEN: Refusal = { status: 500, code: INTERNAL_ERROR, message: 'Internal server error' }
export const NOT_ACCEPTABLE: Refusal = {
  status: 406,
  code: 406,
  message: 'Responses are application/json, which the Accept header does not allow.',
}

const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer realm="asyncgate"' },
  405: { allow: 'POST' },
}

/** A fault as JSON-RPC error data. Its code must not be one that the protocol reserves. */
export function refusal(fault: Fault, requestId?: string, challenge?: string): Refusal {
  const status = ERRORS[fault.code].http
  const code = status === 400 ? INVALID_REQUEST : status
  const { retry_after_seconds: seconds } = fault.details
  const headers = {
    ...(challenge === undefined ? HEADERS[status] : { 'www-authenticate': challenge }),
    ...(typeof seconds === 'number' && { 'retry-after': String(Math.ceil(seconds)) }),
  }
  return {
    status,
    code,
    message: fault.message,
    data: errorBody(fault, requestId),
    headers,
  }
}

export function sendRefusal(response: ServerResponse, refusal: Refusal, id: RequestId | null = null): void {
  sendJson(response, refusal.status, JSON.stringify(refusalBody(refusal, id)), refusal.headers)
}

export function refusalBody({ code, message, data }: Refusal, id: RequestId | null): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } }
}

/** Sends a result. Pieces are sent one at a time, as fast as the client reads. */
export async function sendResult(
  response: ServerResponse,
  id: RequestId,
  result: string | JsonPieces,
): Promise<void> {
  const answer = answerOf(id, result)
  if (typeof answer === 'string') sendJson(response, 200, answer)
  else await sendPieces(response, answer)
}

export function answerOf(id: RequestId, result: string | JsonPieces): string | JsonPieces {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  return typeof result === 'string' ? `${head}${result}}` : result.enclosed(head, '}')
}

export async function sendPieces(response: ServerResponse, pieces: Iterable<string>): Promise<void> {
  if (response.headersSent || response.destroyed) return
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  await pipeBody(response, inTurns(pieces))
}

export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendText(response, status, 'application/json', text, headers)
}

/** The id of a single request; null for other messages. */
export function requestIdOf(body: unknown): RequestId | null {
  if (!isObject(body) || typeof body.method !== 'string') return null
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null
}

export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

export function acceptsEvents({ accept }: IncomingHttpHeaders): boolean {
  return /\btext\/event-stream\b/i.test(accept ?? '')
}

export function acceptsJson({ accept }: IncomingHttpHeaders): boolean {
  return accept === undefined || /(application|\*)\/(json|\*)/i.test(accept)
}

const KEEP_ALIVE_MS = 15_000

/** Begins a stream of server-sent events. Returns the timer of its keep-alive comments. */
export function beginEvents(response: ServerResponse, write: (text: string) => void): NodeJS.Timeout {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  return setInterval(() => write(': keepalive\n\n'), KEEP_ALIVE_MS).unref()
}

export function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}

/** Serves a request whose body was read with a handler of web requests. */
export function serveWeb(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  return toNodeHandler({ fetch })({ method, url, headers, [Symbol.asyncIterator]: noMore }, response, body)
}

async function* noMore() {}
