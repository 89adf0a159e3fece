import { type Command, REPORTED_CALLS, type ReportRefusal } from '../../core/command.ts'
import type { Fault } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'

/** Maximum number of concurrent reports. More are dropped, so that refusals cannot flood the ledger. */
const MAX_REPORTS = 100

/** Reports refused calls of workers to the owners of the tasks, if lease_anomaly_receipts is set. */
export class LeaseRefusals {
  readonly #engine: Engine
  readonly #pending = new Map<string, Promise<void>>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  refused(command: Command, { code }: Fault): void {
    if (!this.#engine.settings.lease_anomaly_receipts || code !== 'LEASE_INVALID_OR_EXPIRED') return
    const call = REPORTED_CALLS.find((verb) => verb === command.verb)
    if (call === undefined || !('lease_id' in command)) return
    const { tenant, task_id, holder: by, worker_id } = command
    const key = `${tenant} ${task_id}`
    if (this.#pending.has(key) || this.#pending.size >= MAX_REPORTS) return
    const report = this.#report({ tenant, task_id, call, by, worker_id })
      .catch((error) => this.#engine.report(error))
      .finally(() => this.#pending.delete(key))
    this.#pending.set(key, report)
  }

  /** Resolves when all reports are written. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending.values())
  }

  async #report(refusal: Omit<ReportRefusal, 'verb' | 'asked'>): Promise<void> {
    const { tenant, task_id } = refusal
    const record = await this.#engine.store.reads.task(tenant, task_id)
    if (record === undefined) return
    await this.#engine.submit({ verb: 'report_refusal', asked: record.task.seq, ...refusal })
  }
}
