import { setImmediate } from 'node:timers/promises'

/** The last work with more than one step. */
let last: Promise<unknown> = Promise.resolve()

/**
 * Runs work in steps, with a turn of the event loop between two steps, so that other requests make progress. Work with
 * more than one step runs one at a time, because the results of many large requests would not fit in memory.
 */
export async function inSteps<T>(work: Generator<void, T>): Promise<T> {
  const first = work.next()
  if (first.done) return first.value
  const before = last
  const rest = before.then(() => continued(work))
  last = rest.catch(() => {})
  return rest
}

async function continued<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    await setImmediate()
    const step = work.next()
    if (step.done) return step.value
  }
}
