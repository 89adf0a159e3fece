import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Authenticator } from '../auth/credential.ts'
import type { ProtectedResource } from '../auth/protected-resource.ts'
import type { Operation } from '../features/define-operation.ts'
import type { InboundMail } from '../features/email/email.ts'
import type { Gate } from '../features/gate.ts'
import { App } from '../http/app.ts'
import { BulkRequests } from '../http/bulk-requests.ts'
import { Clients } from '../http/clients.ts'
import { closeConnections, Held, respondClientError } from '../http/connections.ts'
import type { Context } from '../http/context.ts'
import { EventStreams } from '../http/event-stream.ts'
import type { GuardSettings } from '../http/guard.ts'
import { createLogger, type Logger } from '../http/log.ts'
import { Metrics, type Siblings } from '../http/metrics.ts'
import { allRoutes, type Mounted } from '../http/routes.ts'
import { type CertificateFiles, watchCertificate } from './certificate.ts'
import {
  type ConnectionLimits,
  DEFAULT_LIMITS,
  limitConnections,
  reportRefused,
  serverOptions,
} from './connection-limits.ts'
import { OperatorError } from './operator-error.ts'

export interface ServerOptions extends Mounted {
  /** Owned by the caller, who closes it after the server. */
  readonly gate: Gate
  readonly authenticator: Authenticator
  /** Where clients get access tokens; undefined if none are accepted. */
  readonly resource?: ProtectedResource | undefined
  readonly guard: GuardSettings
  /** The clients of the server; without trusted proxies if absent. */
  readonly clients?: Clients | undefined
  readonly maxBodyBytes: number
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<ConnectionLimits>
  /** With a certificate the server speaks https only. */
  readonly certificate?: CertificateFiles | undefined
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly port?: number
  readonly logger?: Logger
  /** How long the server still listens after close() was called, so that health checks see that it is not ready. */
  readonly drainMs?: number
  /** How long a request that was sent before may then take to arrive. */
  readonly graceMs?: number
  /** Receives email from the webhooks of email providers. */
  readonly inboundMail?: InboundMail | undefined
  /** The other processes that share the port; undefined if this one is alone. */
  readonly siblings?: Siblings | undefined
  /** The catalogue to serve; by default all operations. */
  readonly operations?: readonly Operation[]
}

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Reads the certificate again; open connections keep theirs. Does nothing without TLS. */
  reloadCertificate(): void
  /** Stops listening, ends long polls and waits for running requests. Takes less than 10 s. */
  close(): Promise<void>
}

const DRAIN_MS = 500

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { gate, authenticator, guard, maxBodyBytes, host = '127.0.0.1', port = 0, inboundMail } = options
  const logger = options.logger ?? createLogger('silent')
  const held = new Held()
  const streams = new EventStreams()
  const metrics = new Metrics(gate, {
    connections: () => ({ polls: held.count, streams: streams.count }),
    siblings: options.siblings,
  })
  const bulk = new BulkRequests(gate.settings.max_pending_bytes)
  const { resource } = options
  const clients = options.clients ?? new Clients()
  const context: Context = {
    gate,
    authenticator,
    resource,
    guard,
    clients,
    maxBodyBytes,
    held,
    bulk,
    metrics,
  }
  const app = new App(context, logger, (self) =>
    allRoutes(
      { ...context, streams, inboundMail, isStopping: () => self.isStopping },
      options,
      options.operations,
    ),
  )
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { server, watch } = createListener(options.certificate, limits, logger, (request, response) =>
    app.handle(request, response),
  )
  const report = reportRefused(logger.warn.bind(logger))
  limitConnections(server, limits, (limit) => {
    metrics.refusedConnection(limit)
    report(limit)
  })
  server.on('clientError', respondClientError)
  try {
    await listen(server, host, port)
  } catch (error) {
    watch?.stop()
    metrics.close()
    throw listenError(error, host, port)
  }
  const address = server.address() as AddressInfo

  let closing: Promise<void> | undefined
  const close = async () => {
    app.stop()
    watch?.stop()
    await delay(options.drainMs ?? DRAIN_MS)
    // Not earlier: a long poll that ends is repeated immediately, and would still find the server listening.
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
    url: `${watch === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    reloadCertificate: () => watch?.reload(),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** A server for http, or with a certificate for https. Later connections use the certificate of then. */
function createListener(
  files: CertificateFiles | undefined,
  limits: ConnectionLimits,
  logger: Logger,
  handle: RequestListener,
) {
  if (files === undefined) return { server: createServer(serverOptions(limits), handle), watch: undefined }
  const watch = watchCertificate(files, {
    use({ context, expires }) {
      server.setSecureContext(context)
      logger.info({ expires }, 'the TLS certificate was read again')
    },
    onError: (error) =>
      logger.error({ err: error }, 'the TLS certificate cannot be used; the one before stays in use'),
  })
  const server = createTlsServer({ ...serverOptions(limits), ...watch.initial.context }, handle)
  return { server, watch }
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

function listenError(error: unknown, host: string, port: number): unknown {
  const unknownHost = [
    `${host} is not an address of this machine.`,
    'Set ASYNCGATE_HOST to 127.0.0.1, or to 0.0.0.0 for all addresses.',
  ] as const
  const known: Readonly<Record<string, readonly [message: string, hint: string]>> = {
    EADDRINUSE: [
      `Port ${port} of ${host} is in use by another program.`,
      'Stop that program, or use another port: --port 0 picks a free one.',
    ],
    EACCES: [
      `Listening on port ${port} needs more permissions than this process has.`,
      'Use a port above 1023.',
    ],
    EADDRNOTAVAIL: unknownHost,
    ENOTFOUND: unknownHost,
  }
  const found = error instanceof Error && 'code' in error ? known[String(error.code)] : undefined
  return found === undefined ? error : new OperatorError('failed', ...found)
}
