import { createHash } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import { canonical } from '../core/json/json.ts'
import type { Part, Payload, PutOptions } from './channel.ts'

export const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'

export const WHOLE: Part = { offset: 0, length: Number.POSITIVE_INFINITY }

/** The content to write. */
interface Source {
  readonly content: AsyncIterable<Uint8Array>
  readonly media_type: string
}

export function sourceOf(payload: Payload, { media_type }: PutOptions = {}): Source {
  if (isStream(payload)) return { content: payload, media_type: media_type ?? BYTES_TYPE }
  if (payload instanceof Uint8Array) return { content: once(payload), media_type: media_type ?? BYTES_TYPE }
  return { content: once(Buffer.from(canonical(payload))), media_type: media_type ?? JSON_TYPE }
}

export function isStream(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** Reads a small stream into memory. */
export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A part of a stream, for sources that can only be read from the start. */
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

/** Measures and hashes content, and throws when it exceeds `limit` bytes. */
export class Meter {
  readonly #hash = createHash('sha256')
  readonly #limit: number
  /** The error of the measured content, as opposed to an error of its reader. */
  sourceError: unknown
  size = 0

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  async *measure(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of content) {
        this.add(chunk)
        yield chunk
      }
    } catch (error) {
      this.sourceError = error
      throw error
    }
  }

  add(chunk: Uint8Array): void {
    this.size += chunk.length
    if (this.size > this.#limit) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: this.#limit })
    this.#hash.update(chunk)
  }

  /** Size and SHA-256 in hex. Call it once, at the end. */
  result(): { readonly checksum: string; readonly size: number } {
    return { checksum: this.#hash.digest('hex'), size: this.size }
  }
}

export interface Expected {
  /** SHA-256 in hex. */
  readonly checksum?: string | undefined
  readonly size?: number | undefined
}

/** Verifies content and yields its last chunk only if it is intact, so that a reader never gets all of a damaged payload. */
export async function* verified(
  content: AsyncIterable<Uint8Array>,
  { checksum, size }: Expected,
): AsyncGenerator<Uint8Array> {
  const meter = new Meter()
  let last: Uint8Array | undefined
  for await (const chunk of content) {
    meter.add(chunk)
    if (last !== undefined) yield last
    last = chunk
  }
  const found = meter.result()
  const isSame = (size ?? found.size) === found.size && (checksum ?? found.checksum) === found.checksum
  if (!isSame) throw new Fault('RESULT_CORRUPT', { expected: { checksum, size }, found })
  if (last !== undefined) yield last
}
