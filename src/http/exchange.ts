import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { ERRORS, type Fault } from '../core/errors.ts'
import { inTurns, writeJson } from '../engine/stored-json.ts'
import { endResponse, isUnread, pipeBody } from './response.ts'

/** What the log says of a request besides method, route, status and time. */
export interface Notes {
  tenant?: string
  principal?: string
  task_id?: string
  lease_id?: string
  worker_id?: string
}

const SANE_ID = /^[\w.:+/=-]{1,128}$/

/** A body that comes in parts. */
export interface Body {
  readonly content: AsyncIterable<Uint8Array>
  readonly headers: OutgoingHttpHeaders
}

/** One request and its answer. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly path: string
  readonly query: string
  readonly started = performance.now()
  readonly notes: Notes = {}

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
    const given = request.headers['x-request-id']
    this.id = typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
    const url = request.url ?? '/'
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
  }

  json(status: number, body: object, headers?: OutgoingHttpHeaders): void {
    this.send(status, 'application/json', JSON.stringify(body), headers)
  }

  /** The answer of an operation. Large stored values in it are sent as they are stored, a piece at a time. */
  async answer(body: object): Promise<void> {
    const written = writeJson(body)
    if (typeof written === 'string') this.send(200, 'application/json', written)
    else await this.stream(200, 'application/json', undefined, { content: inTurns(written), headers: {} })
  }

  empty(status: number): void {
    this.response.writeHead(status, { 'X-Request-Id': this.id, 'Cache-Control': 'no-store' })
    endResponse(this.response, '')
  }

  send(status: number, type: string, text: string, headers: OutgoingHttpHeaders = {}): void {
    this.#head(status, type, Buffer.byteLength(text), headers)
    endResponse(this.response, text)
  }

  /**
   * Sends a body as fast as the client takes it. Nothing is sent before its first part is there, so what fails at
   * once is refused like anything else; what fails later breaks the connection before the body is complete.
   */
  async stream(status: number, type: string, size: number | undefined, body: Body): Promise<void> {
    const { request, response } = this
    const parts = body.content[Symbol.asyncIterator]()
    const first = request.method === 'HEAD' ? undefined : await parts.next()
    this.#head(status, type, size, body.headers)
    if (first === undefined) {
      response.end()
      return
    }
    await pipeBody(response, resumed(first, parts))
  }

  #head(status: number, type: string, size: number | undefined, headers: OutgoingHttpHeaders): void {
    const { response } = this
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) response.setHeader(name, value)
    if (isUnread(this.request)) response.setHeader('Connection', 'close')
    if (this.request.headers['x-forwarded-proto'] === 'https') {
      response.setHeader('Strict-Transport-Security', 'max-age=31536000; includeSubDomains')
    }
    if (size !== undefined) response.setHeader('Content-Length', size)
    response.writeHead(status, {
      'Content-Type': type,
      'X-Request-Id': this.id,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    })
  }

  /** `more` are fields that a protocol adds to the body of an error, or says differently. */
  refuse(fault: Fault, more: object = {}, headers: OutgoingHttpHeaders = {}): void {
    const { http } = ERRORS[fault.code]
    const { required_role, your_role, retry_after_seconds } = fault.details
    const body = {
      ...fault.toJSON(),
      ...(required_role !== undefined && { required_role, your_role }),
      request_id: this.id,
      ...more,
    }
    const again = typeof retry_after_seconds === 'number' ? Math.ceil(retry_after_seconds) : 1
    this.json(http, body, {
      ...headers,
      ...(fault.retryable && { 'Retry-After': again }),
      ...(http === 401 && { 'WWW-Authenticate': 'Bearer' }),
    })
  }
}

async function* resumed(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let part = first; !part.done; part = await rest.next()) yield part.value
  } finally {
    await rest.return?.()
  }
}
