import type { Channel } from './channel.ts'
import { Meter } from './meter.ts'
import { collect, once, slice, sourceOf } from './payload.ts'
import { dataOf, notFound } from './pointer.ts'

/** The pointer travels in receipts, which have room for 64 KB in all. */
const MAX_BYTES = 16 * 1024

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The pointer is the payload. For small things only; nobody has to keep anything. */
export function inlineChannel(): Channel {
  const name = 'inline'
  const bytesOf = (pointer: string): Buffer => {
    const data = dataOf(pointer, name)
    const bytes = Buffer.from(data, 'base64')
    if (!BASE64.test(data) || bytes.toString('base64') !== data) throw notFound(pointer)
    return bytes
  }
  return {
    name,
    async put(_taskId, payload, options) {
      const { content, media_type } = sourceOf(payload, options)
      const meter = new Meter(MAX_BYTES)
      const bytes = await collect(meter.measure(content))
      return {
        pointer: `${name}:${bytes.toString('base64')}`,
        channel: name,
        checksum: meter.checksum(),
        size: meter.size,
        media_type,
      }
    },
    async get(pointer) {
      const bytes = bytesOf(pointer)
      return { size: bytes.length, read: (part) => slice(once(bytes), part) }
    },
    async ack(pointer) {
      dataOf(pointer, name)
    },
    capabilities: () => ({
      max_size_bytes: MAX_BYTES,
      supports_streaming: false,
      supports_attachments: false,
      retention_days: null,
      human_readable: false,
    }),
  }
}
