/** Those who wait for a turn, in their order. */
const waiting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop. Long work calls it between its parts. However many wait, only one goes on
 * in each turn, so that together they block everybody else for no longer than one part takes.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(resumeFirst)
  })
}

/** What long work waits for before its first part: nothing, unless other long work is going on. */
export function firstTurn(): Promise<void> | undefined {
  return waiting.length === 0 ? undefined : nextTurn()
}

function resumeFirst(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeFirst)
}
