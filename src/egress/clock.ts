import { EgressError } from './error.ts'

/** One signal for the time that a request may take and for the caller's wish to stop it. */
export interface Clock {
  readonly signal: AbortSignal
  /** Rejects with the reason of the signal as soon as it is aborted. */
  race<T>(work: Promise<T>): Promise<T>
  /** To be called when the request is over. */
  end(): void
}

export function startClock(limitMs: number, what: string, outer?: AbortSignal): Clock {
  const stop = new AbortController()
  const onOuter = () => stop.abort(outer?.reason)
  const timer = Number.isFinite(limitMs)
    ? setTimeout(() => stop.abort(new EgressError('TIMED_OUT', `${what} took over ${limitMs} ms`)), limitMs)
    : undefined
  if (outer?.aborted) onOuter()
  outer?.addEventListener('abort', onOuter, { once: true })
  return {
    signal: stop.signal,
    race: (work) => raceWith(work, stop.signal),
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onOuter)
    },
  }
}

function raceWith<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
