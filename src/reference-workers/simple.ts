import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { task } from '../worker/index.ts'

/** Returns its payload. */
export const echo = task('echo', {
  run: (payload) => ({ echo: payload }),
})

const MAX_SECONDS = 3_600

/** Waits, then returns a value: for experiments with leases, progress and cancellation. */
export const sleepThenReturn = task('sleep_then_return', {
  input: z.strictObject({
    seconds: z.number().min(0).max(MAX_SECONDS),
    value: z.json().optional(),
  }),
  async run({ seconds, value = null }, { signal }) {
    await setTimeout(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
    return { slept_seconds: seconds, value }
  },
})
