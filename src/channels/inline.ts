import { type Channel, capable } from './channel.ts'
import { collect, Meter, once, slice, sourceOf } from './payload.ts'
import { dataOf, notFound } from './pointer.ts'

/** The pointer is part of receipts, which are limited to 64 KB. */
const MAX_BYTES = 16 * 1024

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The pointer contains the payload. Only for small payloads; it needs no storage. */
export function inlineChannel(): Channel {
  const name = 'inline'
  return {
    name,
    async put(_taskId, payload, options) {
      const { content, media_type } = sourceOf(payload, options)
      const meter = new Meter(MAX_BYTES)
      const bytes = await collect(meter.measure(content))
      return { pointer: `${name}:${bytes.toString('base64')}`, channel: name, ...meter.result(), media_type }
    },
    async get(pointer) {
      const data = dataOf(pointer, name)
      const bytes = Buffer.from(data, 'base64')
      if (!BASE64.test(data) || bytes.toString('base64') !== data) throw notFound(pointer)
      return { size: bytes.length, read: (part) => slice(once(bytes), part) }
    },
    async ack(pointer) {
      dataOf(pointer, name)
    },
    capabilities: capable({ max_size_bytes: MAX_BYTES }),
  }
}
