import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** Returns the first bytes and discards the rest, so that the command never blocks. */
export async function firstBytes(stream: AsyncIterable<Buffer>, maxBytes: number) {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    if (size < maxBytes) chunks.push(chunk.subarray(0, maxBytes - size))
    size += chunk.length
  }
  const truncated = size > maxBytes
  // Invalid bytes become U+FFFD, and so does NUL, which the server does not accept.
  const text = new TextDecoder()
    .decode(Buffer.concat(chunks), { stream: truncated })
    .replaceAll('\0', '\ufffd')
  return { text, truncated }
}

export class FileTooLarge extends Error {}

/** Writes a stream to a file; throws FileTooLarge if it is too long. */
export async function writeFile(stream: AsyncIterable<Buffer>, file: FileHandle, maxBytes: number) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new FileTooLarge(`more than ${maxBytes} bytes`)
    hash.update(chunk)
    await file.writeFile(chunk)
  }
  return { bytes, sha256: hash.digest('hex') }
}
