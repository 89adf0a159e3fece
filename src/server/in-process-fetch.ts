import { ERRORS, Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import { OPERATIONS } from '../features/catalogue.ts'
import type { Gate } from '../features/gate.ts'
import { type Params, Router } from '../http/router.ts'

/** The base URL of requests that never leave the process. */
export const IN_PROCESS_URL = 'http://in-process.invalid'

/** Fields that name the caller, who is known here. */
const IDENTITY: ReadonlySet<string> = new Set([
  'principal_kind',
  'principal_id',
  'principal_instance_id',
  'worker_instance_id',
])

const ROUTER = new Router(OPERATIONS.map((operation) => ({ ...operation.rest, operation })))

/**
 * A `fetch` that calls the operations of the gate without HTTP, as this caller. Event streams stay open and empty. For
 * clients and workers inside of the server, which need no credentials and no port.
 */
export function inProcessFetch(gate: Gate, caller: Caller): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', body, signal } = init
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/v1/events') return emptyStream(signal ?? undefined)
    const found = ROUTER.find(method, pathname)
    if (found === undefined || 'allow' in found) return Response.json({}, { status: 404 })
    const given = typeof body === 'string' ? JSON.parse(body) : Object.fromEntries(searchParams)
    const fields = inputOf(given, found.params)
    try {
      return Response.json(await gate.call(found.route.operation, caller, fields, signal ?? undefined))
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof Fault)) throw error
      return Response.json(error, { status: ERRORS[error.code].http })
    }
  }
}

function inputOf(given: object, params: Params): Record<string, unknown> {
  const fields = Object.entries(given).filter(([name]) => !IDENTITY.has(name))
  return { ...Object.fromEntries(fields), ...params }
}

function emptyStream(signal: AbortSignal | undefined): Response {
  const headers = { 'content-type': 'text/event-stream' }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const keepAlive = setInterval(() => controller.enqueue(KEEP_ALIVE), KEEP_ALIVE_MS)
      keepAlive.unref()
      signal?.addEventListener('abort', () => {
        clearInterval(keepAlive)
        controller.error(signal.reason)
      })
    },
  })
  return new Response(body, { headers })
}

const KEEP_ALIVE = new TextEncoder().encode(': keep-alive\n\n')
const KEEP_ALIVE_MS = 10_000
