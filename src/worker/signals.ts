const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Where processes get signals: told once the worker stops, told again it stops at once. Returns the way back. */
export function onSignals(stop: (signal: string) => void, kill: () => void): () => void {
  const host = globalThis.process
  if (typeof host?.on !== 'function') return () => {}
  let isAsked = false
  const listener = (signal: string) => {
    if (isAsked) kill()
    else stop(signal)
    isAsked = true
  }
  for (const signal of SIGNALS) host.on(signal, listener)
  return () => {
    for (const signal of SIGNALS) host.off(signal, listener)
  }
}
