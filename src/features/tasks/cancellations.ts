import { z } from 'zod'
import {
  afterReport,
  type CancelReport,
  type CancelStage,
  checkInterrupted,
  type InterruptedTask,
  isInterrupted,
  isSameReport,
  UNHEARD,
} from '../../core/cancellation.ts'
import type { LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type Json, parseCanonical } from '../../core/json/json.ts'
import { parsePrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import { Collection } from '../collection.ts'
import type { TaskView } from './shape.ts'

const KIND = 'cancellation'

/** Maximum number of refused calls that wait to be recorded. */
const MAX_WAITING = 10_000

type Call = LeaseClaim & { readonly tenant: number }

const storedShape = z.object({ acknowledged_at: z.number().nullable(), stopped_at: z.number().nullable() })

/**
 * The reports of workers about the cancellation of tasks that they held. They are stored beside the tasks, which have
 * ended and do not change any more. Only views depend on them.
 */
export class Cancellations {
  readonly #engine: Engine
  readonly #reports: Collection<CancelReport>
  #waiting: Call[] = []
  #writing: Promise<void> | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#reports = new Collection(engine, KIND, reportOf)
  }

  async report(call: Call, stage: CancelStage): Promise<CancelReport> {
    const { tenant, task_id } = call
    const record = await this.#engine.reading(() => this.#engine.store.reads.task(tenant, task_id))
    checkInterrupted(record?.task, call)
    for (;;) {
      const item = await this.#reports.get(tenant, task_id)
      const before = item?.value ?? UNHEARD
      const after = afterReport(before, stage, await this.#engine.reading(() => this.#engine.store.now()))
      if (isSameReport(before, after)) return before
      const written = await this.#reports.put(tenant, task_id, after, item?.version ?? 0)
      if (written !== undefined) return after
    }
  }

  /**
   * Called when a call of a lease holder was refused. If the task was canceled, the worker has learned of it by the
   * refusal, whether or not it reports so. Returns immediately and never throws.
   */
  refused(call: Call, error: unknown): void {
    if (!(error instanceof Fault) || error.code !== 'LEASE_INVALID_OR_EXPIRED') return
    if (error.details.task_status !== 'canceled' || this.#waiting.length >= MAX_WAITING) return
    this.#waiting.push(call)
    this.#writing ??= this.#write()
  }

  /** Resolves when everything that was learned from refusals is written. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** The cancellations of these tasks, by task id. Tasks that no worker held have none. */
  async shownFor(
    tenant: number,
    records: readonly TaskRecord[],
  ): Promise<ReadonlyMap<string, TaskView['cancellation']>> {
    const tasks = records.map(({ task }) => task).filter(isInterrupted)
    if (tasks.length === 0) return NOTHING
    const { store } = this.#engine
    const [receipts, entries] = await this.#engine.reading(() =>
      Promise.all([
        store.reads.receiptsAt(
          tenant,
          tasks.map(({ outcome }) => outcome.receipt_seq),
        ),
        store.entries.several(
          tenant,
          KIND,
          tasks.map(({ task_id }) => task_id),
        ),
      ]),
    )
    const bySeq = new Map(receipts.map((receipt) => [receipt.seq, receipt]))
    const reports = new Map(entries.map(({ name, value }) => [name, reportOf(value)]))
    return new Map(
      tasks.map((task) => [
        task.task_id,
        view(task, bySeq.get(task.outcome.receipt_seq), reports.get(task.task_id) ?? UNHEARD),
      ]),
    )
  }

  async #write(): Promise<void> {
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      // One at a time, so that other requests are served in between.
      await nextTurn()
      await this.report(call, 'acknowledged').catch((error: unknown) => {
        if (!(error instanceof Fault)) this.#engine.report(error)
      })
    }
    this.#writing = undefined
  }
}

const NOTHING: ReadonlyMap<string, TaskView['cancellation']> = new Map()

function reportOf(value: string): CancelReport {
  return storedShape.parse(JSON.parse(value))
}

function view(
  task: InterruptedTask,
  receipt: Receipt | undefined,
  { acknowledged_at, stopped_at }: CancelReport,
): TaskView['cancellation'] {
  return {
    requested_at: isoTime(task.outcome.completed_at),
    requested_by: parsePrincipalKey(receipt?.from ?? task.owner),
    reason: receipt === undefined ? null : reasonOf(parseCanonical(receipt.body)),
    acknowledged_at: isoOrNull(acknowledged_at),
    stopped_at: isoOrNull(stopped_at),
  }
}

const bodyShape = z.looseObject({ reason: z.string().nullable() })

function reasonOf(body: Json): string | null {
  return bodyShape.safeParse(body).data?.reason ?? null
}
