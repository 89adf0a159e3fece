let last: Promise<void> = Promise.resolve()

/**
 * Resolves in a later turn of the event loop. However many wait, only one goes on in each turn, so that what they do
 * together blocks nobody else for longer than the work of one.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
  return last
}
