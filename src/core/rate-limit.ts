/** At most `calls` calls at once; they become available again evenly over `window_seconds`. */
export interface RateLimit {
  readonly calls: number
  readonly window_seconds: number
}

/** Products of the largest calls and the largest window in milliseconds are exact numbers. */
export const MAX_CALLS = 100_000_000
export const MAX_WINDOW_SECONDS = 86_400

/**
 * When the bucket is full again: `ms` and a fraction `part` / calls of a millisecond. The fraction is a whole number, so
 * that no number of calls accumulates rounding errors.
 */
export interface BucketState {
  readonly ms: number
  readonly part: number
}

/** What a caller has left of one limit. */
export interface Standing {
  readonly isAllowed: boolean
  /** Calls that are possible now. */
  readonly remaining: number
  /** Milliseconds until all calls are available again. */
  readonly full_ms: number
  /** Milliseconds until this call is possible; 0 if it is allowed. */
  readonly retry_ms: number
}

/** What a response says about the limits of its caller. */
export interface LimitReport {
  readonly bucket: string
  readonly limit: number
  readonly standing: Standing
}

/**
 * The generic cell rate algorithm: decides whether `cost` calls are allowed at the time `now` in milliseconds. The state
 * is unchanged if they are not. A cost of 0 only reads.
 */
export function takeCalls(
  state: BucketState | undefined,
  { calls, window_seconds }: RateLimit,
  now: number,
  cost: number,
): { readonly state: BucketState; readonly standing: Standing } {
  const window = window_seconds * 1000
  // A state of another limit or of another clock is brought within the bounds of this one.
  const isFull = state === undefined || state.ms < now
  const isEmpty = !isFull && state.ms >= now + window
  const ms = isFull ? now : isEmpty ? now + window : state.ms
  const part = isFull || isEmpty ? 0 : Math.min(state.part, calls - 1)
  const amount = cost * window
  const total = part + (amount % calls)
  const carry = total >= calls ? 1 : 0
  const nextMs = ms + Math.floor(amount / calls) + carry
  const nextPart = total - carry * calls
  const isAllowed = nextMs - now < window || (nextMs - now === window && nextPart === 0)
  const after = isAllowed ? { ms: nextMs, part: nextPart } : { ms, part }
  const free = (now + window - after.ms) * calls - after.part
  return {
    state: after,
    standing: {
      isAllowed,
      remaining: Math.max(0, Math.floor(free / window)),
      full_ms: after.ms - now + (after.part > 0 ? 1 : 0),
      retry_ms: isAllowed ? 0 : nextMs - now - window + (nextPart > 0 ? 1 : 0),
    },
  }
}
