import { createHash } from 'node:crypto'
import { Fault } from '../core/errors.ts'

/** Counts and hashes what passes through it, and lets no more than `limit` bytes pass. */
export class Meter {
  readonly #hash = createHash('sha256')
  readonly #limit: number
  size = 0

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  async *measure(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.add(chunk)
      yield chunk
    }
  }

  add(chunk: Uint8Array): void {
    this.size += chunk.length
    if (this.size > this.#limit) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: this.#limit })
    this.#hash.update(chunk)
  }

  /** SHA-256 in hex. To be called once, at the end. */
  checksum(): string {
    return this.#hash.digest('hex')
  }
}
