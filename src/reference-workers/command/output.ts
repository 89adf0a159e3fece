import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** The beginning of what a command writes. */
export interface Written {
  readonly text: string
  readonly truncated: boolean
}

/** Keeps the first bytes and lets the rest go, so that the command is never held up. */
export async function firstBytes(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Written> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    if (size < maxBytes) chunks.push(chunk.subarray(0, maxBytes - size))
    size += chunk.length
  }
  const truncated = size > maxBytes
  // Invalid bytes become U+FFFD, and so does NUL, which the gate does not take.
  const text = new TextDecoder()
    .decode(Buffer.concat(chunks), { stream: truncated })
    .replaceAll('\0', '\ufffd')
  return { text, truncated }
}

/** More was written to a file than is allowed. */
export class FileTooLarge extends Error {}

export interface FileWritten {
  readonly bytes: number
  readonly sha256: string
}

/** Writes all of it to a file, unless it is too much. */
export async function writeFile(
  stream: AsyncIterable<Buffer>,
  file: FileHandle,
  maxBytes: number,
): Promise<FileWritten> {
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
