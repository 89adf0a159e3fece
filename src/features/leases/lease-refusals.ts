import { type Command, REPORTED_CALLS, type ReportRefusal } from '../../core/command.ts'
import type { Fault } from '../../core/errors.ts'
import type { Services } from '../services.ts'

/** Reports that may be under way at once. More are dropped: the ledger is not for floods. */
const MAX_REPORTS = 100

/** Brings refused calls of workers to the owners of the tasks, where the operator wants that. */
export class LeaseRefusals {
  readonly #engine: Services
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(engine: Services) {
    this.#engine = engine
  }

  refused(command: Command, { code }: Fault): void {
    if (!this.#engine.settings.lease_anomaly_receipts || code !== 'LEASE_INVALID_OR_EXPIRED') return
    const call = REPORTED_CALLS.find((verb) => verb === command.verb)
    if (call === undefined || !('lease_id' in command)) return
    const { tenant, task_id, holder: by, worker_id } = command
    const key = `${tenant} ${task_id}`
    if (this.#underWay.has(key) || this.#underWay.size >= MAX_REPORTS) return
    const report = this.#report({ tenant, task_id, call, by, worker_id })
      .catch((error) => this.#engine.report(error))
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, report)
  }

  /** Resolves when all reports are written. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  async #report(refusal: Omit<ReportRefusal, 'verb' | 'asked'>): Promise<void> {
    const { tenant, task_id } = refusal
    const record = await this.#engine.store.reads.task(tenant, task_id)
    if (record === undefined) return
    await this.#engine.submit({ verb: 'report_refusal', asked: record.task.seq, ...refusal })
  }
}
