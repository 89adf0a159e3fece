import { setImmediate } from 'node:timers/promises'

/** The last of those that take more than one step. */
let last: Promise<unknown> = Promise.resolve()

/**
 * Does work that pauses, with a turn of the event loop at every pause, so that other requests are answered meanwhile.
 * What pauses is done one after the other: what many large requests become would not fit in memory together.
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
