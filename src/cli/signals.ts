import { EXIT } from './exit.ts'
import { warn } from './output.ts'

/** Process managers wait ten seconds before they kill a process. */
const STOP_WITHIN_MS = 9_500

/** Ends the process if it has not stopped in time. Returns a function that cancels this. */
export function limitStop(): () => void {
  const timer = setTimeout(() => {
    warn(`Not everything has ended within ${STOP_WITHIN_MS / 1000} s; the rest is aborted.`)
    process.exit(EXIT.failure)
  }, STOP_WITHIN_MS)
  return () => clearTimeout(timer)
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const

/** The exit code of a process that a signal has ended. */
export function exitCodeOf(signal: keyof typeof SIGNALS): number {
  return 128 + SIGNALS[signal]
}

/**
 * Resolves when the process receives a signal to stop. A second signal ends the process. `also` is another trigger, such as the
 * end of its input; a signal that comes after it is the first one.
 */
export function stopRequested(also?: Promise<void>): Promise<keyof typeof SIGNALS> {
  return new Promise((resolve) => {
    void also?.then(() => resolve('SIGTERM'))
    onSignals(resolve)
  })
}

/** Runs `work` with a signal that is aborted when the process receives a signal to stop. A second one ends the process. */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController()
  const remove = onSignals(() => stopping.abort())
  try {
    return await work(stopping.signal)
  } finally {
    remove()
  }
}

/** Calls `first` for the first signal; the second one ends the process. Returns a function that removes the listeners. */
function onSignals(first: (signal: keyof typeof SIGNALS) => void): () => void {
  let asked = false
  const on = (signal: keyof typeof SIGNALS) => {
    if (asked) process.exit(exitCodeOf(signal))
    asked = true
    first(signal)
  }
  process.on('SIGINT', on)
  process.on('SIGTERM', on)
  return () => {
    process.off('SIGINT', on)
    process.off('SIGTERM', on)
  }
}
