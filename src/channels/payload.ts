import { canonical } from '../core/json/json.ts'
import type { Part, Payload, PutOptions } from './channel.ts'

export const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'

export const WHOLE: Part = { offset: 0, length: Number.POSITIVE_INFINITY }

/** What is to be written. */
export interface Source {
  readonly content: AsyncIterable<Uint8Array>
  /** All of it, where it is in memory anyway. */
  readonly bytes: Uint8Array | undefined
  readonly media_type: string
}

export function sourceOf(payload: Payload, { media_type }: PutOptions = {}): Source {
  if (isStream(payload)) {
    return { content: payload, bytes: undefined, media_type: media_type ?? BYTES_TYPE }
  }
  if (payload instanceof Uint8Array) {
    return { content: once(payload), bytes: payload, media_type: media_type ?? BYTES_TYPE }
  }
  const bytes = Buffer.from(canonical(payload))
  return { content: once(bytes), bytes, media_type: media_type ?? JSON_TYPE }
}

function isStream(payload: Payload): payload is AsyncIterable<Uint8Array> {
  return typeof payload === 'object' && payload !== null && Symbol.asyncIterator in payload
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** All of a stream that is known to be small. */
export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The part of a stream that was asked for, where the source can only be read from its start. */
export async function* slice(
  content: AsyncIterable<Uint8Array>,
  { offset, length }: Part = WHOLE,
): AsyncGenerator<Uint8Array> {
  let skip = offset
  let left = length
  for await (const chunk of content) {
    const part = chunk.subarray(Math.min(skip, chunk.length), Math.min(skip + left, chunk.length))
    skip -= Math.min(skip, chunk.length)
    left -= part.length
    if (part.length > 0) yield part
    if (left <= 0) return
  }
}
