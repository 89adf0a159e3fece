/** What a run has opened, and whether it was interrupted. */
export class Resources {
  readonly #interrupted = new AbortController()
  readonly #releases: (() => unknown)[] = []

  get signal(): AbortSignal {
    return this.#interrupted.signal
  }

  /** Registers how to release something that was just opened. */
  defer(release: () => unknown): void {
    this.#releases.push(release)
  }

  interrupt(reason: string): void {
    this.#interrupted.abort(new Error(reason))
  }

  async release(): Promise<void> {
    for (const release of this.#releases.splice(0).reverse()) {
      try {
        await release()
      } catch (error) {
        console.error(error)
        process.exitCode = 1
      }
    }
  }
}

/** Releases what `run` opened, the last first, also after an error, SIGINT or SIGTERM. A second signal ends the process. */
export async function withResources(run: (resources: Resources) => Promise<void>): Promise<void> {
  const resources = new Resources()
  const interrupt = (signal: NodeJS.Signals) => resources.interrupt(`interrupted by ${signal}`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt)
  try {
    await run(resources)
  } catch (error) {
    if (!resources.signal.aborted) throw error
  } finally {
    await resources.release()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt)
  }
  if (resources.signal.aborted) {
    console.error('Interrupted.')
    process.exit(130)
  }
}
