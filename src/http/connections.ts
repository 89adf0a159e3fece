import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises'
import { ERRORS } from '../core/errors.ts'

/** A request that was under way to us when we stopped listening has this long to arrive. */
const GRACE_MS = 300

/** Whatever still runs then is cut off. */
const DEADLINE_MS = 7000

/**
 * Stops listening, and closes connections as they fall idle. Idle ones are not closed at once: a client may just be
 * sending a request on one, and would take the reset for a failure. `release` is to end what would not end by itself,
 * and `idle` waits for the rest.
 */
export async function closeConnections(
  server: Server,
  release: () => void,
  idle: () => Promise<void>,
  graceMs: number = GRACE_MS,
): Promise<void> {
  // Right after the event loop has accepted what there was: whoever is not accepted by now is reset.
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

/** What is not HTTP gets an answer that is. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
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
    `HTTP/1.1 ${STATUS[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
