import { backoff, pause, RETRY_REQUEST } from '../client/backoff.ts'
import { GateError, pauseAfter } from '../client/gate-error.ts'
import type { GateAddress } from '../client/transport.ts'
import type { Channel, Stored } from './channel.ts'
import { isStream, JSON_TYPE } from './payload.ts'

/** The `results` option of a worker: stores results outside of the task. */
export interface WorkerResults {
  /** Stores bytes and streams of bytes unchanged, and any other value as JSON. */
  put(taskId: string, value: unknown, channel?: string): Promise<Stored>
}

/** Stores results in channels of the worker; the first one is the default. */
export function channelResults(first: Channel, ...others: readonly Channel[]): WorkerResults {
  const channels = [first, ...others]
  return {
    async put(taskId, value, name = first.name) {
      const channel = channels.find((each) => each.name === name)
      if (channel === undefined) {
        const names = channels.map((each) => each.name).join(', ')
        throw new Error(`The result belongs in the channel ${name}, but this worker has only ${names}.`)
      }
      const { payload, media_type } = payloadOf(value)
      return channel.put(taskId, payload, { media_type })
    },
  }
}

export interface GateResultsOptions extends GateAddress {
  /** The id of the worker. */
  readonly workerId: string
}

/** Uploads results to the server, which stores them in its channel. For workers without their own storage. */
export function gateResults({ url, key, fetch, headers, workerId }: GateResultsOptions): WorkerResults {
  const base = url.replace(/\/+$/, '')
  const send = fetch ?? globalThis.fetch
  const sent = { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) }

  const upload = async (taskId: string, value: unknown, channel: string | undefined): Promise<Stored> => {
    const { payload, media_type } = payloadOf(value)
    const query = new URLSearchParams({ worker_id: workerId, ...(channel !== undefined && { channel }) })
    const init = {
      method: 'PUT',
      headers: { ...sent, 'content-type': media_type ?? 'application/octet-stream' },
      body: payload,
      // Required for a body that is a stream.
      duplex: 'half',
    } as const
    let response: Response
    try {
      response = await send(`${base}/v1/tasks/${encodeURIComponent(taskId)}/result?${query}`, init)
    } catch (error) {
      throw GateError.unreachable(base, error)
    }
    const text = await response.text()
    if (!response.ok) throw GateError.of({ status: response.status, headers: response.headers, text })
    return JSON.parse(text)
  }

  return {
    async put(taskId, value, channel) {
      for (let nth = 1; ; nth++) {
        try {
          return await upload(taskId, value, channel)
        } catch (error) {
          const isFinal = !(error instanceof GateError) || !error.retryable || nth > RETRY_REQUEST.retries
          // A stream can be sent only once.
          if (isFinal || isStream(value)) throw error
          await pause(pauseAfter(error, backoff(nth, RETRY_REQUEST)))
        }
      }
    },
  }
}

function payloadOf(value: unknown): {
  payload: Uint8Array | AsyncIterable<Uint8Array>
  media_type: string | undefined
} {
  if (value instanceof Uint8Array || isStream(value)) return { payload: value, media_type: undefined }
  const text: string | undefined = JSON.stringify(value)
  return { payload: Buffer.from(text ?? 'null'), media_type: JSON_TYPE }
}
