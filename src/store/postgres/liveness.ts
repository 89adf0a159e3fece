import type pg from 'pg'

/** The first answer on a connection that works comes sooner: it is that of a statement that waits for nothing. */
const SILENCE_MS = 1_500

/**
 * Detects connections that are dead without an error, for example after a network fault. When one falls silent, all others
 * on which nothing was heard since are suspect too, and are replaced before they are used.
 */
export class Liveness {
  readonly #heardAt = new WeakMap<pg.ClientBase, number>()
  readonly #listeners: (() => void)[] = []
  #silentSince = Number.NEGATIVE_INFINITY

  heard(client: pg.ClientBase): void {
    this.#heardAt.set(client, performance.now())
  }

  isSuspect(client: pg.ClientBase): boolean {
    return (this.#heardAt.get(client) ?? 0) < this.#silentSince
  }

  /** Calls back when a connection fell silent. */
  onSilence(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * To be called when a statement is about to be sent. Gives the connection up if nothing is heard for too long.
   * Returns how to stop waiting.
   */
  watch(client: pg.Client): () => void {
    const { stream } = client.connection
    const sentAt = performance.now()
    let grace: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      // After the process stood still, what has arrived meanwhile is read between the timers and this.
      grace = setImmediate(() => {
        stop()
        this.#silentSince = sentAt
        stream.destroy()
        for (const listener of this.#listeners) listener()
      })
    }, SILENCE_MS)
    const stop = () => {
      clearTimeout(timer)
      clearImmediate(grace)
      stream.off('data', hear)
    }
    const hear = () => {
      stop()
      this.heard(client)
    }
    stream.on('data', hear)
    return stop
  }
}
