import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Authenticator } from '../auth/credential.ts'
import type { Operation } from '../features/define-operation.ts'
import type { InboundMail } from '../features/email/email.ts'
import type { Gate } from '../features/gate.ts'
import { App } from '../http/app.ts'
import { answerClientError, closeConnections } from '../http/connections.ts'
import type { Context } from '../http/context.ts'
import { EventStreams } from '../http/events.ts'
import type { GuardSettings } from '../http/guard.ts'
import { Held } from '../http/held.ts'
import { createLogger, type Logger } from '../http/log.ts'
import { Metrics } from '../http/metrics.ts'
import { allRoutes } from '../http/routes.ts'

export interface ServerOptions {
  /** Stays the caller's: close it after the server. */
  readonly gate: Gate
  readonly authenticator: Authenticator
  readonly guard: GuardSettings
  readonly maxBodyBytes: number
  readonly host?: string
  /** 0, the default, picks a free one. */
  readonly port?: number
  readonly logger?: Logger
  /** How long it still listens once it is to close, so that whoever asks hears that it is not ready. */
  readonly drainMs?: number
  /** How long a request that is under way to it then has to arrive. */
  readonly graceMs?: number
  /** Answers /mcp, whatever the method. */
  readonly mcp?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /** Answers /console and what is below it, whatever the method. */
  readonly console?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /** Takes mail that providers bring. */
  readonly inboundMail?: InboundMail | undefined
  /** The catalogue to serve; by default all operations. */
  readonly operations?: readonly Operation[]
}

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Stops listening, lets waiting requests answer and running ones finish. Takes less than 10 s. */
  close(): Promise<void>
}

const DRAIN_MS = 500

/** Longer than the usual idle time of a client's pool, so that the client closes first. */
const KEEP_ALIVE_MS = 75_000

/** The head of a request must have arrived by then. Whoever reads a body has his own limit: uploads take long. */
const HEADERS_TIMEOUT_MS = 60_000

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const {
    gate,
    authenticator,
    guard,
    maxBodyBytes,
    host = '127.0.0.1',
    port = 0,
    mcp,
    inboundMail,
    operations,
  } = options
  const logger = options.logger ?? createLogger('silent')
  const held = new Held()
  const streams = new EventStreams()
  const metrics = new Metrics(gate)
  const context: Context = { gate, authenticator, guard, maxBodyBytes, held, metrics }
  const mounted = { ...(mcp && { mcp }), ...(options.console && { console: options.console }) }
  const app = new App(context, logger, (self) =>
    allRoutes({ ...context, streams, inboundMail, isStopping: () => self.isStopping }, mounted, operations),
  )
  const server = createServer((request, response) => app.handle(request, response))
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = 0
  server.on('clientError', answerClientError)
  await listen(server, host, port)
  const address = server.address() as AddressInfo

  let closing: Promise<void> | undefined
  const close = async () => {
    app.stop()
    await delay(options.drainMs ?? DRAIN_MS)
    // Not before: whoever waits asks again at once, and would find us still listening.
    const release = () => {
      app.endConnections()
      held.stop()
      streams.stop()
    }
    await closeConnections(server, release, () => app.idle(), options.graceMs)
    metrics.close()
    logger.flush()
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
