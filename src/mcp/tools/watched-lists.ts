import { asFault, type TaskToolSource } from './tool.ts'

/** Well below the minute after which the tools of an unused tenant are dropped from memory. */
const USE_EVERY_MS = 20_000

export interface ListWatch {
  /** Resolves when changes from now on are noticed. Never rejects. */
  readonly loaded: Promise<void>
  stop(): void
}

/**
 * Keeps the tools of a tenant in memory while its clients listen for changes, because changes are only noticed for
 * tenants in memory.
 */
export class WatchedLists {
  readonly #sources: readonly TaskToolSource[]
  readonly #onError: (error: unknown) => void
  /** The number of listening clients by tenant. */
  readonly #counts = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(sources: readonly TaskToolSource[], onError: (error: unknown) => void) {
    this.#sources = sources
    this.#onError = onError
  }

  watch(tenant: string): ListWatch {
    this.#counts.set(tenant, (this.#counts.get(tenant) ?? 0) + 1)
    this.#timer ??= setInterval(() => {
      for (const watched of this.#counts.keys()) void this.#use(watched)
    }, USE_EVERY_MS).unref()
    let isOver = false
    const stop = () => {
      if (!isOver) this.#stop(tenant)
      isOver = true
    }
    return { loaded: this.#use(tenant), stop }
  }

  #stop(tenant: string): void {
    const left = (this.#counts.get(tenant) ?? 1) - 1
    if (left > 0) this.#counts.set(tenant, left)
    else this.#counts.delete(tenant)
    if (this.#counts.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #use(tenant: string): Promise<void> {
    try {
      await Promise.all(
        this.#sources.flatMap((source) => [source.tools(tenant), source.hidden?.(tenant, undefined)]),
      )
    } catch (error) {
      asFault(error, this.#onError)
    }
  }
}
