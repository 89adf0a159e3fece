/** The pauses between attempts: the first one, doubled for each attempt up to the maximum. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/** How often a request is retried after a transient failure, and with which pauses. */
export interface RetryPolicy extends Backoff {
  readonly retries: number
}

/** For a request whose caller waits. */
export const RETRY_REQUEST: RetryPolicy = { retries: 5, firstMs: 200, maxMs: 10_000 }

/** For a loop that runs until it is stopped, such as an event stream. */
export const RETRY_LOOP: Backoff = { firstMs: 1000, maxMs: 60_000 }

/** For the claims of a worker. */
export const RETRY_POLL: Backoff = { firstMs: 5000, maxMs: 60_000 }

/** The pause before the nth retry, counted from 1. Half of it is random, so that clients spread out. */
export function backoff(nth: number, { firstMs, maxMs }: Backoff = RETRY_LOOP): number {
  const full = Math.min(firstMs * 2 ** Math.min(nth - 1, 30), maxMs)
  return full / 2 + (Math.random() * full) / 2
}

/** Resolves after a time, or rejects with the reason of the signal when that is aborted. */
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
