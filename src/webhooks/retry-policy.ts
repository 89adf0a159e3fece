import { backoff } from '../util/backoff.ts'

/** Longer than any attempt. Afterwards another process takes over, because this one must have died. */
export const HOLD_MS = 60_000

/** How long a pending attempt may take when the process stops. */
export const STOP_MS = 2_000

/** With the pauses between them, this is about 20 hours. */
export const MAX_ATTEMPTS = 30

const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 3_600_000

/** The pause after this number of failed attempts. */
export function pauseAfter(attempts: number): number {
  return backoff(attempts, FIRST_PAUSE_MS, MAX_PAUSE_MS)
}
