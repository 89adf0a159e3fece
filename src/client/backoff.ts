/** How long to wait between tries: the first pause, doubled each time up to the last. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/** How often a request is sent again after a failure that may pass, and with which pauses. */
export interface RetryPolicy extends Backoff {
  readonly retries: number
}

/** For a call that somebody waits for. */
export const RETRY_REQUEST: RetryPolicy = { retries: 5, firstMs: 200, maxMs: 10_000 }

/** For a loop that goes on until it is stopped: streams of events, and a server that is away. */
export const RETRY_LOOP: Backoff = { firstMs: 1000, maxMs: 60_000 }

/** For a worker that asks for work and gets an error. */
export const RETRY_POLL: Backoff = { firstMs: 5000, maxMs: 60_000 }

/** The pause before the n-th try again, counted from 1. Its second half is random, so that clients spread out. */
export function backoff(nth: number, { firstMs, maxMs }: Backoff = RETRY_LOOP): number {
  const full = Math.min(firstMs * 2 ** Math.min(nth - 1, 30), maxMs)
  return full / 2 + (Math.random() * full) / 2
}

/** Resolves after a time, or rejects with the reason of the signal as soon as it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
