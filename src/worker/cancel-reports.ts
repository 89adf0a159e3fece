import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import { Limiter } from './limiter.ts'
import type { WorkerLog } from './log.ts'

/** Few, so that a mass cancel does not stand in the way of renewals and results. */
const MAX_REQUESTS = 4

/**
 * Tells the server how far the cancels of this worker's tasks have come: heard of, and stopped. It is only news for who
 * canceled: each is sent once, and one that does not arrive changes nothing.
 */
export class CancelReports {
  readonly #calls: Calls
  readonly #log: WorkerLog
  readonly #requests = new Limiter(MAX_REQUESTS)
  readonly #stopped = new WeakSet<HeldLease>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(calls: Calls, log: WorkerLog) {
    this.#calls = calls
    this.#log = log
  }

  /** The handler was told to stop. */
  heard(lease: HeldLease): void {
    this.#send(lease, 'acknowledged')
  }

  /** The handler has ended. */
  stopped(lease: HeldLease): void {
    this.#stopped.add(lease)
    this.#send(lease, 'stopped')
  }

  /** Resolves when there is nothing left to send. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #send(lease: HeldLease, stage: 'acknowledged' | 'stopped'): void {
    const sent = this.#requests
      .run(async () => {
        // Who has stopped has also heard.
        if (stage === 'acknowledged' && this.#stopped.has(lease)) return
        await this.#calls.reportCancel(lease.key, stage)
      })
      .catch((error: unknown) => this.#log.of(lease).debug({ error, stage }, 'a cancel was not reported'))
      .finally(() => this.#underWay.delete(sent))
    this.#underWay.add(sent)
  }
}
