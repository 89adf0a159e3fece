import { EgressError } from './error.ts'

/** One signal for the time limit of a request and for the abort signal of its caller. */
export interface Clock {
  readonly signal: AbortSignal
  /** Must be called when the request has ended. */
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
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onOuter)
    },
  }
}
