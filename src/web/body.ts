import type { IncomingMessage } from 'node:http'
import { Fault } from '../core/errors.ts'

/** The body as text. More than `maxBytes` is refused as soon as it is seen, whatever Content-Length says. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = () => new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: maxBytes })
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    const bytes: Buffer = chunk
    size += bytes.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
