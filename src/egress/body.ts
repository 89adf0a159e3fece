import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { EgressError } from './error.ts'

const DECODERS = new Map<string, () => NodeJS.ReadWriteStream & Readable>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
])

/** How the body of an answer is encoded; undefined if it is not. */
export function encodingOf({ statusCode, headers }: IncomingMessage, method: string): string | undefined {
  const hasNone = method === 'HEAD' || statusCode === 204 || statusCode === 304
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity'
  if (hasNone || encoding === 'identity') return undefined
  // Several encodings on top of each other have no use but to blow up further.
  if (!DECODERS.has(encoding)) throw new EgressError('BAD_RESPONSE', `the body is encoded as ${encoding}`)
  return encoding
}

/** The body as it was before it was encoded. */
export function decoded(response: IncomingMessage, encoding: string | undefined): Readable {
  const decoder = encoding === undefined ? undefined : DECODERS.get(encoding)?.()
  // Whoever reads the decoder hears of the error; the pipeline has to be given somebody to tell it to.
  return decoder === undefined ? response : pipeline(response, decoder, () => {})
}

/** Hands a body on until it is larger than it may be. What exceeds is never kept. */
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
  /** Whether there was more than was allowed. */
  readonly truncated: boolean
}

/** As much of a limited body as is allowed. */
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
