import { Fault } from '../core/errors.ts'
import type { ResultContent, ResultStore } from '../features/results/result-store.ts'
import type { Channel } from './channel.ts'
import { once } from './payload.ts'
import { channelOf } from './pointer.ts'
import type { Channels } from './registry.ts'
import { verified } from './verified.ts'

/** The channels as the gate uses them. `standard` takes what no type has a channel for; null if nothing does. */
export function resultStore(channels: Channels, standard: string | null): ResultStore {
  const named = (name: string, pointer?: string): Channel => {
    const channel = channels.find(name)
    if (channel !== undefined) return channel
    throw new Fault('CHANNEL_NOT_CONFIGURED', { channel: name, ...(pointer !== undefined && { pointer }) })
  }
  return {
    channel: standard,
    has: (name) => channels.find(name) !== undefined,
    async put({ task_id, ...about }, content, { channel: name, media_type, max_bytes, reference }) {
      const channel = named(name)
      const limit = Math.min(max_bytes, channel.capabilities().max_size_bytes ?? max_bytes)
      return channel.put(task_id, within(content, limit), { media_type, reference, about })
    },
    async get(taskId, artifact) {
      const { pointer, channel } = artifact
      const expected = { checksum: artifact.checksum ?? undefined, size: artifact.size ?? undefined }
      const { size, read } = await named(channel, pointer).get(pointer, { taskId })
      if (size !== undefined && expected.size !== undefined && size !== expected.size) {
        throw new Fault('RESULT_CORRUPT', { expected, found: { size } })
      }
      return { size, read: (part) => (part === undefined ? verified(read(), expected) : read(part)) }
    },
    async ack(taskId, pointer, reference) {
      await named(channelOf(pointer) ?? '', pointer).ack(pointer, { taskId, reference })
    },
  }
}

function within(content: ResultContent, limit: number): ResultContent {
  return content instanceof Uint8Array && content.length <= limit ? content : atMost(content, limit)
}

async function* atMost(content: ResultContent, limit: number): AsyncGenerator<Uint8Array> {
  let left = limit
  for await (const chunk of content instanceof Uint8Array ? once(content) : content) {
    left -= chunk.length
    if (left < 0) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: limit })
    yield chunk
  }
}
