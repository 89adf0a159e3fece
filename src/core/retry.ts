import { backoff } from '../util/backoff.ts'
import type { Settings } from './settings.ts'

/** A failure is tried again if it may be and a try is left. `attempt` counts the failures before this one. */
export function mayRetry(task: { attempt: number; max_attempts: number }, retryable: boolean): boolean {
  return retryable && task.attempt + 1 < task.max_attempts
}

/** base, 2 base, 4 base, ... for the first, second, third retry, up to the configured cap. */
export function backoffMs(baseSeconds: number, attempt: number, settings: Settings): number {
  return backoff(attempt, baseSeconds * 1000, settings.max_retry_backoff_seconds * 1000)
}

/** Leases that lapse together must not come back together. */
const EXPIRY_JITTER_MS = 5000

/** When a task whose lease has lapsed can be claimed again. `unit` is random, from 0 to 1. */
export function requeueAt(now: number, expiresAt: number, settings: Settings, unit: number): number {
  const jitter = Math.floor(unit * EXPIRY_JITTER_MS)
  return graceEnd(now, expiresAt, settings) + settings.lease_requeue_delay_seconds * 1000 + jitter
}

/** Before this nobody else gets a task whose lease ended at `expiresAt`; never in the past. */
export function graceEnd(now: number, expiresAt: number, settings: Settings): number {
  return Math.max(now, expiresAt + settings.lease_grace_seconds * 1000)
}
