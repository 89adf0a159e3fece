import { Fault } from '../core/errors.ts'
import { Meter } from './meter.ts'

export interface Expected {
  /** SHA-256 in hex. */
  readonly checksum?: string | undefined
  readonly size?: number | undefined
}

/**
 * The content, whose last chunk is handed out only when all of it has proved to be what was written. So nobody who
 * counts the bytes takes a damaged payload for a whole one.
 */
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
  const found = { checksum: meter.checksum(), size: meter.size }
  const isSame = (size ?? found.size) === found.size && (checksum ?? found.checksum) === found.checksum
  if (!isSame) throw new Fault('RESULT_CORRUPT', { expected: { checksum, size }, found })
  if (last !== undefined) yield last
}
