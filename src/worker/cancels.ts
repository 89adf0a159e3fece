import type { TaskChange } from '../client/operations.ts'
import type { Transport } from '../client/transport.ts'
import type { Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'

/** The worker begins without the stream if it is not there by then. */
const FIRST_MS = 500

/** Hears of cancels as they happen. Without it they are noticed at the next renewal. */
export class Cancels {
  readonly #transport: Transport
  readonly #path: string
  readonly #leases: Leases
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #stopping = new AbortController()

  constructor(
    transport: Transport,
    workerId: string,
    parts: { leases: Leases; log: WorkerLog; metrics: Metrics },
  ) {
    this.#transport = transport
    this.#path = `/v1/events?worker_id=${encodeURIComponent(workerId)}&status=canceled`
    this.#leases = parts.leases
    this.#log = parts.log
    this.#metrics = parts.metrics
  }

  /** Resolves when it listens, or when it is not worth waiting for that any longer. */
  listen(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FIRST_MS)
      const begin = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#follow(begin)
        .catch((error: unknown) => {
          if (this.#stopping.signal.aborted) return
          this.#log.warn({ error }, 'there is no stream of events: cancels are noticed at renewals only')
        })
        .finally(() => {
          this.#metrics.eventStream = false
          begin()
        })
    })
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #follow(onOpen: () => void): Promise<void> {
    const changes = this.#transport.events<TaskChange>(this.#path, {
      signal: this.#stopping.signal,
      onOpen: () => {
        onOpen()
        this.#metrics.eventStream = true
        this.#leases.check()
      },
    })
    for await (const { data } of changes) {
      if (data.status === 'canceled') this.#leases.canceled(data.task_id, data.fence)
    }
  }
}
