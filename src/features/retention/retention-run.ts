import { DAY_MS } from '../../core/time.ts'
import { TERMINAL_STATUSES } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Collected, EndedTask } from '../../store/retention.ts'
import { nextTurn } from '../../util/turns.ts'
import { isNearQuota } from '../limits/usage.ts'
import { removeStoredResults } from '../results/remove-results.ts'
import type { ResultStore } from '../results/result-store.ts'
import type { UsageRecorder } from '../usage/usage-recorder.ts'
import type { Archive } from './archive.ts'
import { AGAIN_MS, ArchiveMove } from './archive-move.ts'
import type { RetentionRecord } from './record.ts'

/** Tasks that get their time in one transaction. */
const SCHEDULED_PER_STEP = 200
/** Tasks whose contents one step removes. */
const CLEARED_PER_STEP = 25
/** Tasks of one archive, and of one transaction that removes them: it blocks the commits of the tenant. */
const TASKS_PER_FILE = 500
const TASKS_PER_TRANSACTION = 20
/** The part of the ended tasks that one step archives early, and their largest number. */
const ROOM_PART = 0.1
const ROOM_PER_STEP = 100
/** Rows of the ledger that are read at once, and receipts of an archive about no task. */
const ROWS_PER_READ = 50
const RECEIPTS_PER_FILE = 2_000

export interface RunDeps {
  readonly engine: Engine
  readonly results: ResultStore | undefined
  readonly archive: Archive
  readonly usage: Pick<UsageRecorder, 'freed'>
  /** After how many days receipts are archived; 0: never. */
  readonly receiptDays: number
}

/** Applies the retention of one tenant, step by step. A step that was done already has no further effect. */
export class RetentionRun {
  readonly #deps: RunDeps
  readonly #tenant: number
  readonly #archiveMove: ArchiveMove

  constructor(
    deps: RunDeps,
    tenant: { readonly tenant: number; readonly name: string },
    onFile: (file: string) => Promise<void>,
  ) {
    this.#deps = deps
    this.#tenant = tenant.tenant
    this.#archiveMove = new ArchiveMove(deps, tenant, onFile)
  }

  next(record: RetentionRecord, now: number): Promise<RetentionRecord> {
    switch (record.stage) {
      case 'schedule':
        return this.#schedule(record, now)
      case 'tasks':
        return this.#applyToTasks(record, now)
      case 'quota':
        return this.#makeRoom(record, now)
      case 'receipts':
        return this.#archiveStrays(record, now)
      case 'done':
        return Promise.resolve(record)
    }
  }

  /** Tasks that ended before the settings were what they are have no time yet. */
  async #schedule(record: RetentionRecord, now: number): Promise<RetentionRecord> {
    const { engine } = this.#deps
    const { retention } = engine.store
    const { status, position } = record
    const page = await engine.reading(() =>
      retention.ended(this.#tenant, status, position, SCHEDULED_PER_STEP),
    )
    const times = page
      .filter(({ expires_at }) => expires_at === null)
      .map((ended) => ({ task: ended.task, at: this.#firstTime(ended, now) }))
    if (times.length > 0) await engine.writing(() => retention.schedule(this.#tenant, times))
    const last = page.at(-1)
    if (last !== undefined && page.length === SCHEDULED_PER_STEP)
      return { ...record, position: last.task.seq }
    const following = TERMINAL_STATUSES[TERMINAL_STATUSES.indexOf(status) + 1]
    if (following !== undefined) return { ...record, status: following, position: 0 }
    return { ...record, stage: 'tasks', position: 0, scheduled_for: this.settings }
  }

  /** Ended tasks get another time when these change. */
  get settings(): string {
    return `${this.#deps.engine.settings.task_retention_days} ${this.#isArchiving}`
  }

  #firstTime({ task, cleared_at }: EndedTask, now: number): number | null {
    if (cleared_at !== null) return this.#isArchiving ? now : null
    const days = task.retention_days ?? this.#deps.engine.settings.task_retention_days
    return days === 0 ? null : task.outcome.completed_at + days * DAY_MS
  }

  async #applyToTasks(record: RetentionRecord, now: number): Promise<RetentionRecord> {
    const { engine } = this.#deps
    const { retention } = engine.store
    const due = await engine.reading(() => retention.due(this.#tenant, now, TASKS_PER_FILE))
    const whole = due.filter(({ cleared_at }) => cleared_at === null).slice(0, CLEARED_PER_STEP)
    for (const ended of whole) await this.#clear(ended, now)
    if (whole.length > 0) return { ...record, cleared_tasks: record.cleared_tasks + whole.length }
    if (due.length === 0) return { ...record, stage: 'quota', position: 0 }
    if (!this.#isArchiving) {
      await engine.writing(() =>
        retention.schedule(
          this.#tenant,
          due.map(({ task }) => ({ task, at: null })),
        ),
      )
      return record
    }
    return this.#archiveTasks(record, due, now)
  }

  /** A tenant that has nearly used up a quota gets room: its oldest ended tasks are archived before their time. */
  async #makeRoom(record: RetentionRecord, now: number): Promise<RetentionRecord> {
    const { engine } = this.#deps
    const { retention, reads } = engine.store
    const done: RetentionRecord = { ...record, stage: 'receipts', position: 0 }
    const counters = await engine.reading(() => reads.counters(this.#tenant))
    if (!this.#isArchiving || !isNearQuota(engine.settingsOf(this.#tenant), counters)) return done
    const ended: EndedTask[] = []
    for (const status of TERMINAL_STATUSES) {
      ended.push(...(await engine.reading(() => retention.ended(this.#tenant, status, 0, TASKS_PER_FILE))))
    }
    const oldest = ended
      .filter(({ task }) => !task.outcome.obligation_open)
      .sort((a, b) => a.task.seq - b.task.seq)
      .slice(0, Math.min(ROOM_PER_STEP, Math.ceil(ROOM_PART * counters.ended_tasks)))
    for (const task of oldest) if (task.cleared_at === null) await this.#clear(task, now)
    const portions: Collected[] = []
    for (let from = 0; from < oldest.length; from += TASKS_PER_TRANSACTION) {
      const tasks = oldest.slice(from, from + TASKS_PER_TRANSACTION)
      portions.push(await engine.reading(() => retention.collect(this.#tenant, tasks)))
    }
    const moved = await this.#move(record, portions, now)
    return moved.archived_tasks === record.archived_tasks ? done : moved
  }

  /** Metadata stays until the receipts are archived. */
  async #clear(ended: EndedTask, now: number): Promise<void> {
    const { engine, results, receiptDays } = this.#deps
    const { retention, erasure, reads } = engine.store
    const { task } = ended
    const record = await engine.reading(() => reads.task(this.#tenant, task.task_id))
    if (record === undefined) return
    await removeStoredResults({ engine, results }, task)
    await engine.writing(() => erasure.task(task, record.spec, now))
    const next = this.#isArchiving ? task.outcome.completed_at + receiptDays * DAY_MS : null
    await engine.writing(() => retention.cleared(ended, now, next))
    await nextTurn()
  }

  async #archiveTasks(
    record: RetentionRecord,
    due: readonly EndedTask[],
    now: number,
  ): Promise<RetentionRecord> {
    const portions: Collected[] = []
    for (let from = 0; from < due.length; from += TASKS_PER_TRANSACTION) {
      const tasks = due.slice(from, from + TASKS_PER_TRANSACTION)
      const ready = await this.#oldEnough(tasks, now)
      if (ready.tasks.length > 0) portions.push(ready)
      await nextTurn()
    }
    return this.#move(record, portions, now)
  }

  /** Those of the tasks all of whose receipts are old enough. The others get another time. */
  async #oldEnough(tasks: readonly EndedTask[], now: number): Promise<Collected> {
    const { engine, receiptDays } = this.#deps
    const { retention } = engine.store
    const collected = await engine.reading(() => retention.collect(this.#tenant, tasks))
    const newest = new Map<string, number>()
    for (const { receipt } of collected.receipts) {
      const id = receipt.task_id ?? ''
      newest.set(id, Math.max(newest.get(id) ?? 0, receipt.created_at))
    }
    const timeOf = ({ task }: EndedTask) =>
      task.outcome.obligation_open
        ? now + AGAIN_MS
        : (newest.get(task.task_id) ?? task.updated_at) + receiptDays * DAY_MS
    const young = tasks.filter((ended) => timeOf(ended) > now)
    if (young.length === 0) return collected
    await engine.writing(() =>
      retention.schedule(
        this.#tenant,
        young.map((ended) => ({ task: ended.task, at: timeOf(ended) })),
      ),
    )
    const ready = tasks.filter((ended) => !young.includes(ended))
    return engine.reading(() => retention.collect(this.#tenant, ready))
  }

  /** Receipts about no task, such as those about policies, and those that came after their task was archived. */
  async #archiveStrays(record: RetentionRecord, now: number): Promise<RetentionRecord> {
    const { engine, receiptDays } = this.#deps
    const { retention } = engine.store
    const done: RetentionRecord = { ...record, stage: 'done', position: 0, finished_at: now }
    if (!this.#isArchiving || now < record.receipts_at + DAY_MS) return done
    const before = now - receiptDays * DAY_MS
    const portions: Collected[] = []
    let position: number | null = record.position
    let count = 0
    while (position !== null && count < RECEIPTS_PER_FILE) {
      const after: number = position
      const found = await engine.reading(() => retention.strays(this.#tenant, after, before, ROWS_PER_READ))
      if (found.receipts.length > 0) portions.push(found)
      count += found.receipts.length
      position = found.next
      await nextTurn()
    }
    const moved = await this.#move(record, portions, now)
    return position === null
      ? { ...moved, stage: 'done', position: 0, finished_at: now, receipts_at: now }
      : { ...moved, position }
  }

  async #move(
    record: RetentionRecord,
    portions: readonly Collected[],
    now: number,
  ): Promise<RetentionRecord> {
    const { tasks, receipts } = await this.#archiveMove.move(portions, now)
    return {
      ...record,
      archived_tasks: record.archived_tasks + tasks,
      archived_receipts: record.archived_receipts + receipts,
      unused_file: null,
    }
  }

  get #isArchiving(): boolean {
    const { engine, archive, receiptDays } = this.#deps
    return engine.settings.task_retention_days > 0 && receiptDays > 0 && archive.kind !== undefined
  }
}
