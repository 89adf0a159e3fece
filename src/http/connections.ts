import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises'
import { ERRORS } from '../core/errors.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** How long a request that was sent before the server stopped listening may take to arrive. */
const GRACE_MS = 300

/** Connections that are still open after this time are destroyed. */
const DEADLINE_MS = 7000

/**
 * Stops listening and closes connections when they become idle. Idle ones are not closed immediately: a client may be
 * sending a request on one, and would see the reset as a failure. `release` ends long polls and streams, and `idle`
 * resolves when no request is in progress.
 */
export async function closeConnections(
  server: Server,
  release: () => void,
  idle: () => Promise<void>,
  graceMs: number = GRACE_MS,
): Promise<void> {
  // After the event loop has accepted pending connections: those that are not accepted by now are reset.
  await immediate()
  // Server.close of node:http would destroy idle connections right away.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  release()
  const deadline = delay(DEADLINE_MS, undefined, { ref: false })
  await Promise.race([closed, delay(graceMs)])
  await Promise.race([idle(), deadline])
  server.closeIdleConnections()
  await Promise.race([closed, delay(graceMs, undefined, { ref: false })])
  server.closeAllConnections()
  server.close()
}

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

const HEAD = Object.entries({ Connection: 'close', 'Content-Type': 'application/json', ...SECURITY_HEADERS })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

/** Responds to input that is not HTTP. */
export function respondClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { hint } = ERRORS.VALIDATION_ERROR
  const body = JSON.stringify({
    error: 'validation_error',
    code: 'VALIDATION_ERROR',
    message: 'The request is not valid HTTP.',
    hint,
    retryable: false,
  })
  socket.end(
    `HTTP/1.1 ${STATUS[error.code ?? ''] ?? '400 Bad Request'}\r\n${HEAD}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Requests that wait for an event. They end when their client disconnects or the server stops. */
export class Held {
  readonly #waiting = new Set<AbortController>()
  #stopped = false

  get count(): number {
    return this.#waiting.size
  }

  /** Aborted when the client disconnects or the server stops. */
  signal(response: ServerResponse): AbortSignal {
    if (this.#stopped || response.destroyed) return AbortSignal.abort()
    const controller = new AbortController()
    this.#waiting.add(controller)
    response.once('close', () => {
      this.#waiting.delete(controller)
      if (!response.writableFinished) controller.abort()
    })
    return controller.signal
  }

  stop(): void {
    this.#stopped = true
    for (const controller of this.#waiting) controller.abort()
  }
}
