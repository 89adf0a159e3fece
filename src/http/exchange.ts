import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Credential } from '../auth/credential.ts'
import { ERRORS, type Fault, liftedDetails } from '../core/errors.ts'
import { inTurns, writeJson } from '../engine/stored-json.ts'
import type { Clients } from './clients.ts'
import { HttpOrigin } from './origin.ts'
import { endResponse, pipeBody, sendText, writeHead } from './response.ts'

/** Fields of the log entry of a request besides method, route, status and duration. */
export interface Notes {
  tenant?: string
  principal?: string
  role?: string
  task_id?: string
  lease_id?: string
  worker_id?: string
}

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/

/** A body that is sent in chunks. */
export interface Body {
  readonly content: AsyncIterable<Uint8Array>
  readonly headers: OutgoingHttpHeaders
}

/** One request and its response. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly path: string
  readonly query: string
  readonly started = performance.now()
  readonly notes: Notes = {}
  readonly origin: HttpOrigin
  /** Undefined until the request is authenticated. */
  credential: Credential | undefined

  constructor(request: IncomingMessage, response: ServerResponse, clients: Clients) {
    this.request = request
    this.response = response
    const given = request.headers['x-request-id']
    this.id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
    this.origin = new HttpOrigin(request, response, clients, this.id)
    const url = request.url ?? '/'
    const end = url.indexOf('?')
    this.path = end < 0 ? url : url.slice(0, end)
    this.query = end < 0 ? '' : url.slice(end + 1)
  }

  json(status: number, body: object, headers?: OutgoingHttpHeaders): void {
    this.send(status, 'application/json', JSON.stringify(body), headers)
  }

  /** Responds with the result of an operation. Large stored values are sent in chunks, as they are stored. */
  async result(body: object): Promise<void> {
    const written = writeJson(body)
    if (typeof written === 'string') this.send(200, 'application/json', written)
    else await this.stream(200, 'application/json', undefined, { content: inTurns(written), headers: {} })
  }

  empty(status: number): void {
    this.response.writeHead(status, { 'X-Request-Id': this.id })
    endResponse(this.response, '')
  }

  send(status: number, type: string, text: string, headers?: OutgoingHttpHeaders): void {
    this.response.setHeader('X-Request-Id', this.id)
    sendText(this.response, status, type, text, headers)
  }

  /**
   * Sends a body as fast as the client reads. The head is sent with the first chunk, so an error before it is a normal
   * error response. A later error closes the connection before the body is complete.
   */
  async stream(status: number, type: string, size: number | undefined, body: Body): Promise<void> {
    const { request, response } = this
    const chunks = body.content[Symbol.asyncIterator]()
    const first = request.method === 'HEAD' ? undefined : await chunks.next()
    response.setHeader('X-Request-Id', this.id)
    writeHead(response, status, type, size, body.headers)
    if (first === undefined) {
      response.end()
      return
    }
    await pipeBody(response, resumed(first, chunks))
  }

  /** Responds with an error. `more` are fields that a protocol adds or overrides. */
  refuse(fault: Fault, more: object = {}, challenge: string | undefined = undefined): void {
    const { http } = ERRORS[fault.code]
    const { retry_after_seconds } = fault.details
    const body = {
      ...fault.toJSON(),
      ...liftedDetails(fault),
      request_id: this.id,
      ...more,
    }
    const seconds = typeof retry_after_seconds === 'number' ? Math.ceil(retry_after_seconds) : 1
    this.json(http, body, {
      ...(fault.retryable && { 'Retry-After': seconds }),
      ...((http === 401 || challenge !== undefined) && { 'WWW-Authenticate': challenge ?? 'Bearer' }),
    })
  }
}

async function* resumed(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let chunk = first; !chunk.done; chunk = await rest.next()) yield chunk.value
  } finally {
    await rest.return?.()
  }
}
