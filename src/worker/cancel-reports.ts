import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import type { WorkerLog } from './log.ts'
import { Limiter } from './timing.ts'

/** Few, so that the cancellation of many tasks does not delay renewals and results. */
const MAX_REQUESTS = 4

/**
 * Reports the progress of cancellations to the server: acknowledged, then stopped. The reports are informational: each
 * is sent once, and a lost one changes nothing.
 */
export class CancelReports {
  readonly #calls: Calls
  readonly #log: WorkerLog
  readonly #requests = new Limiter(MAX_REQUESTS)
  readonly #stopped = new WeakSet<HeldLease>()
  readonly #pending = new Set<Promise<void>>()

  constructor(calls: Calls, log: WorkerLog) {
    this.#calls = calls
    this.#log = log
  }

  /** The signal of the handler was aborted. */
  acknowledged(lease: HeldLease): void {
    this.#send(lease, 'acknowledged')
  }

  /** The handler has returned. */
  stopped(lease: HeldLease): void {
    this.#stopped.add(lease)
    this.#send(lease, 'stopped')
  }

  /** Resolves when no report is pending. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  #send(lease: HeldLease, stage: 'acknowledged' | 'stopped'): void {
    const sent = this.#requests
      .run(async () => {
        // `stopped` implies `acknowledged`.
        if (stage === 'acknowledged' && this.#stopped.has(lease)) return
        await this.#calls.reportCancel(lease.key, stage)
      })
      .catch((error: unknown) => this.#log.of(lease).debug({ error, stage }, 'a cancel was not reported'))
      .finally(() => this.#pending.delete(sent))
    this.#pending.add(sent)
  }
}
