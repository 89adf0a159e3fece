import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasBody } from './body.ts'

/** A client that still sends its request gets this long to read the response before the connection is closed. */
const LINGER_MS = 1000

/** An unread body of at most this size is discarded, and the connection serves the next request. */
const MAX_DISCARDED_BYTES = 64 * 1024

/** Whether so much of the request body may not have been read that the connection is closed after the response. */
function isUnread(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return false
  return !(Number(request.headers['content-length']) <= MAX_DISCARDED_BYTES)
}

/** Sends a complete response; `headers` override the default ones. Does nothing if a response has been sent already. */
export function sendText(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): void {
  if (response.headersSent || response.destroyed) return
  writeHead(response, status, type, Buffer.byteLength(text), headers)
  endResponse(response, text)
}

export function writeHead(
  response: ServerResponse,
  status: number,
  type: string,
  size: number | undefined,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    'Content-Type': type,
    ...(size !== undefined && { 'Content-Length': size }),
    ...(isUnread(response.req) && { Connection: 'close' }),
    ...headers,
  })
}

/**
 * Ends a response whose head is written. Closing a socket that holds unread bytes resets it, and the client may lose the
 * response: therefore what the client still sends is discarded for a moment first.
 */
export function endResponse(response: ServerResponse, text: string): void {
  const request = response.req
  if (!isUnread(request)) {
    if (!request.complete) request.resume()
    response.end(text)
    return
  }
  response.write(text)
  const end = () => {
    clearTimeout(timer)
    request.off('end', end).off('close', end)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.on('end', end).on('close', end).resume()
}

/** Sends the body of a response whose head is written, as fast as the client reads. A client that disconnects is no error. */
export async function pipeBody(
  response: ServerResponse,
  content: Iterable<string> | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  try {
    await pipeline(Readable.from(content, { objectMode: false }), response)
  } catch (error) {
    const isDisconnected =
      error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
    if (!isDisconnected) throw error
  }
}
