import { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { connector, type Route } from './connect.ts'
import { EgressError } from './error.ts'
import { type Headers, type Hop, isWhole, responseHeaders } from './hop.ts'

export interface Received {
  readonly status: number
  readonly headers: Headers
  /** Must be read to its end or destroyed. Destroying it closes the connection, reading it makes the connection reusable. */
  readonly body: Readable
}

/** Idle connections are closed after this time, or two seconds before the end of the time that the server announces. */
const IDLE_MS = 4_000
const MAX_IDLE_MS = 60_000

/** An agent without connections costs little, so this bounds only what hosts with changing addresses leave behind. */
const MAX_AGENTS = 200

/** An agent for each route, the one used last at the end. An agent keeps connections of different origins apart. */
const agents = new Map<string, Agent>()

async function agentFor(route: Route): Promise<Agent> {
  // Undici installs a dispatcher for the global fetch unless there is one; reading this global installs the built-in one.
  void globalThis.Response
  const { Agent } = await import('undici')
  const key = JSON.stringify([route.addresses.toSorted(), route.ca, route.timeoutMs])
  const agent =
    agents.get(key) ??
    new Agent({
      connect: connector(route),
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      // The time limits are those of the request's own clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  agents.delete(key)
  agents.set(key, agent)
  for (const [oldest, unused] of agents) {
    if (agents.size <= MAX_AGENTS) break
    agents.delete(oldest)
    // It ends the connections after the requests that still use them.
    void unused.close()
  }
  return agent
}

/** Sends one request, on an idle connection of the same route and origin if there is one, and waits for the response head. */
export async function exchange(
  url: URL,
  { method, headers, body }: Hop,
  route: Route,
  signal: AbortSignal,
): Promise<Received> {
  const agent = await agentFor(route)
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    let sent: Dispatcher.DispatchController | undefined
    let received: Readable | undefined
    const onAbort = () => {
      const { reason } = signal
      if (sent === undefined && reason instanceof EgressError) reason.isUnsent = true
      sent?.abort(reason)
      reject(reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers, 'accept-encoding': 'gzip, br' },
        body: isWhole(body) ? (body ?? null) : Readable.from(body),
      },
      {
        onRequestStart(controller) {
          sent = controller
          if (signal.aborted) controller.abort(signal.reason)
        },
        onResponseStart(controller, status, head) {
          if (status < 200) return
          received = new Readable({
            read: () => controller.resume(),
            destroy(error, done) {
              if (!this.readableEnded)
                controller.abort(error ?? new Error('the response was not read to its end'))
              done(error)
            },
          })
          // The reader gets the error; a body without a reader has none to report it to.
          received.on('error', () => {})
          resolve({ status, headers: responseHeaders(head), body: received })
        },
        onResponseData(controller, chunk) {
          if (received?.push(chunk) === false) controller.pause()
        },
        onResponseEnd() {
          received?.push(null)
        },
        onResponseError(_controller, error) {
          received?.destroy(error)
          reject(error)
        },
      },
    )
  })
}
