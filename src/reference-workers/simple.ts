import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { task } from '../worker/index.ts'

/** Returns its payload. */
export const echo = task('echo', {
  description: 'Returns its payload as {"echo": payload}. For tests of the connection.',
  run: (payload) => ({ echo: payload }),
})

const MAX_SECONDS = 3_600

/** Waits, then returns a value: for experiments with leases, progress and cancellation. */
export const sleepThenReturn = task('sleep_then_return', {
  description: 'Waits for the given number of seconds, then returns the value. For experiments.',
  input: z.strictObject({
    seconds: z.number().min(0).max(MAX_SECONDS).describe('How long to wait'),
    value: z.json().optional().describe('What to return; null if absent'),
  }),
  output: z.object({ slept_seconds: z.number(), value: z.json() }),
  async run({ seconds, value = null }, { signal }) {
    await setTimeout(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
    return { slept_seconds: seconds, value }
  },
})
