type Close = () => unknown

interface Closers {
  /** Registers how a resource is closed. */
  defer(close: Close): void
}

/**
 * Resources that are closed in the reverse order of their opening. Every one is closed even if another fails to: the
 * first failure is thrown, the others go to `report`.
 */
export class ResourceStack implements Closers {
  readonly #levels: Close[][] = []
  readonly #report: (error: unknown) => void
  #closing: Promise<void> | undefined

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /**
   * Runs the steps of a start. If one of them fails, the resources of the steps before it are closed, the failures of
   * closing are reported, and the error of the step is thrown.
   */
  static async open<T>(
    report: (error: unknown) => void,
    start: (stack: ResourceStack) => Promise<T>,
  ): Promise<T> {
    const stack = new ResourceStack(report)
    try {
      return await start(stack)
    } catch (error) {
      await stack.close().catch(report)
      throw error
    }
  }

  defer(close: Close): void {
    this.#levels.push([close])
  }

  /** Resources that are closed at the same time, after those that were registered later than the group. */
  group(): Closers {
    const level: Close[] = []
    this.#levels.push(level)
    return { defer: (close) => level.push(close) }
  }

  /** Closes everything once. Further calls return the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const failures: unknown[] = []
    for (let level = this.#levels.pop(); level !== undefined; level = this.#levels.pop()) {
      const results = await Promise.allSettled(level.reverse().map(async (close) => close()))
      for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
    }
    for (const failure of failures.slice(1)) this.#report(failure)
    if (failures.length > 0) throw failures[0]
  }
}
