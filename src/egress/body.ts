import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { EgressError } from './error.ts'

const DECODERS = new Map<string, () => NodeJS.ReadWriteStream & Readable>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
])

/** The encoding of a response body; undefined if there is none to undo. */
export function encodingOf(method: string, status: number, header = ''): string | undefined {
  const hasNoBody = method === 'HEAD' || status === 204 || status === 304
  const encoding = header.trim().toLowerCase() || 'identity'
  if (hasNoBody || encoding === 'identity') return undefined
  // Several encodings on top of each other serve no purpose except a larger decompression bomb.
  if (!DECODERS.has(encoding)) throw new EgressError('BAD_RESPONSE', `the body is encoded as ${encoding}`)
  return encoding
}

export function decoded(body: Readable, encoding: string | undefined): Readable {
  const decoder = encoding === undefined ? undefined : DECODERS.get(encoding)?.()
  // The reader of the decoder gets the error; a pipeline only needs a callback.
  return decoder === undefined ? body : pipeline(body, decoder, () => {})
}

/** Passes a body on up to `maxBytes` and then throws. */
export async function* limited(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes
  for await (const chunk of body) {
    if (chunk.length > left) {
      if (left > 0) yield chunk.subarray(0, left)
      throw new EgressError('TOO_LARGE', `the body has more than ${maxBytes} bytes`)
    }
    left -= chunk.length
    yield chunk
  }
}

export interface Collected {
  readonly bytes: Buffer
  /** Whether the body was longer than allowed. */
  readonly truncated: boolean
}

/** Reads a limited body into memory. */
export async function collect(body: AsyncIterable<Uint8Array>): Promise<Collected> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of body) chunks.push(chunk)
  } catch (error) {
    if (!(error instanceof EgressError && error.code === 'TOO_LARGE')) throw error
    return { bytes: Buffer.concat(chunks), truncated: true }
  }
  return { bytes: Buffer.concat(chunks), truncated: false }
}

/** A remainder up to this size is read, so that the connection can be used again. */
const MAX_REST_BYTES = 64 * 1024
const MAX_REST_MS = 1_000

/** Reads what is left of a body that is not needed; closes the connection instead if that is too much or takes too long. */
export function drain(body: Readable): void {
  let left = MAX_REST_BYTES
  const timer = setTimeout(() => body.destroy(), MAX_REST_MS).unref()
  body.once('close', () => clearTimeout(timer))
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) body.destroy()
  })
}
