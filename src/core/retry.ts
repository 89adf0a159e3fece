import type { Settings } from './settings.ts'

/** A failure is tried again if it may be and a try is left. `attempt` counts the failures before this one. */
export function mayRetry(task: { attempt: number; max_attempts: number }, retryable: boolean): boolean {
  return retryable && task.attempt + 1 < task.max_attempts
}

/** base, 2 base, 4 base, ... for the first, second, third retry, up to the configured cap. */
export function backoffMs(baseSeconds: number, attempt: number, settings: Settings): number {
  const seconds = baseSeconds * 2 ** Math.min(attempt - 1, 30)
  return Math.min(seconds, settings.max_retry_backoff_seconds) * 1000
}

/** Leases that lapse together must not come back together. */
export const EXPIRY_JITTER_MS = 5000
