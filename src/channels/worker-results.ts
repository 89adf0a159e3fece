import type { Channel, Stored } from './channel.ts'
import { JSON_TYPE } from './payload.ts'

/** What a worker takes as `results`: the place for results that are not to travel with their task. */
export interface WorkerResults {
  /** A value as JSON; or bytes, or a stream of bytes, as they are. */
  put(taskId: string, value: unknown, channel?: string): Promise<Stored>
}

/** Results of a worker in channels of its own; the first is used where a task names none. */
export function channelResults(first: Channel, ...others: readonly Channel[]): WorkerResults {
  const channels = [first, ...others]
  return {
    async put(taskId, value, name = first.name) {
      const channel = channels.find((each) => each.name === name)
      if (channel === undefined) {
        const names = channels.map((each) => each.name).join(', ')
        throw new Error(
          `The task wants its result in the channel ${name}, but this worker has only ${names}.`,
        )
      }
      const { payload, media_type } = payloadOf(value)
      return channel.put(taskId, payload, { media_type })
    },
  }
}

/** Bytes and streams as they are, everything else as the JSON that a request would carry. */
export function payloadOf(value: unknown): {
  payload: Uint8Array | AsyncIterable<Uint8Array>
  media_type: string | undefined
} {
  if (value instanceof Uint8Array || isStream(value)) return { payload: value, media_type: undefined }
  const text: string | undefined = JSON.stringify(value)
  return { payload: Buffer.from(text ?? 'null'), media_type: JSON_TYPE }
}

function isStream(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
