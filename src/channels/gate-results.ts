import { backoff, pause, RETRY_REQUEST } from '../client/backoff.ts'
import { GateError } from '../client/gate-error.ts'
import type { GateAddress } from '../client/transport.ts'
import type { Stored } from './channel.ts'
import { payloadOf, type WorkerResults } from './worker-results.ts'

export interface GateResultsOptions extends GateAddress {
  /** The same that the worker has. */
  readonly workerId: string
}

/** Results of a worker without storage of its own: they are uploaded to the server, which has a channel. */
export function gateResults({ url, key, fetch, headers, workerId }: GateResultsOptions): WorkerResults {
  const base = url.replace(/\/+$/, '')
  const send = fetch ?? globalThis.fetch
  const sent = { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) }

  const once = async (taskId: string, value: unknown, channel: string | undefined): Promise<Stored> => {
    const { payload, media_type } = payloadOf(value)
    const query = new URLSearchParams({ worker_id: workerId, ...(channel !== undefined && { channel }) })
    const init = {
      method: 'PUT',
      headers: { ...sent, 'content-type': media_type ?? 'application/octet-stream' },
      body: payload,
      // A stream is sent while it is made.
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
      const isStream = typeof value === 'object' && value !== null && Symbol.asyncIterator in value
      for (let nth = 1; ; nth++) {
        try {
          return await once(taskId, value, channel)
        } catch (error) {
          // A stream can be sent only once.
          const isFinal = !(error instanceof GateError) || !error.retryable || nth > RETRY_REQUEST.retries
          if (isFinal || isStream) throw error
          await pause(Math.max(backoff(nth, RETRY_REQUEST), error.retryAfterMs ?? 0))
        }
      }
    },
  }
}
