import type { IncomingMessage, ServerResponse } from 'node:http'
import { hasBody } from './body.ts'

/** A client that still sends gets this long to read the answer before it is cut off. */
const LINGER_MS = 1000

/** Whether a part of the body has not been read, so that nothing more can be asked on the connection. */
export function isUnread(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request)
}

/**
 * Ends an answer whose head is written. Closing a socket that holds unread bytes resets it, and the client may lose the
 * answer: so what it still sends is thrown away for a moment first.
 */
export function endAnswer(response: ServerResponse, text: string): void {
  const request = response.req
  if (!isUnread(request)) {
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
