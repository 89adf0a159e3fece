const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const

/** Resolves when the process is told to stop. Told again, it ends at once. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false
    const on = (signal: keyof typeof SIGNALS) => () => {
      if (asked) process.exit(128 + SIGNALS[signal])
      asked = true
      resolve(signal)
    }
    process.on('SIGINT', on('SIGINT'))
    process.on('SIGTERM', on('SIGTERM'))
  })
}
