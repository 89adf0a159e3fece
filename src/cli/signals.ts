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
    let asked = false
    const on = (signal: keyof typeof SIGNALS) => () => {
      if (asked) process.exit(exitCodeOf(signal))
      asked = true
      resolve(signal)
    }
    process.on('SIGINT', on('SIGINT'))
    process.on('SIGTERM', on('SIGTERM'))
  })
}
