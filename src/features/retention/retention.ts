import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Engine } from '../../engine/engine.ts'
import type { Entry } from '../../store/entries.ts'
import type { ArchiveTotals, DueCounts } from '../../store/retention.ts'
import type { TenantRef } from '../../store/store.ts'
import { Repeater } from '../../util/repeater.ts'
import type { ResultStore } from '../results/result-store.ts'
import type { UsageRecorder } from '../usage/usage-recorder.ts'
import { Archive } from './archive.ts'
import type { RetentionOptions } from './port.ts'
import { NEW_RECORD, type RetentionRecord, retentionRecord } from './record.ts'
import { RetentionRun } from './retention-run.ts'

const KIND = 'retention'
const NAME = 'run'

const SWEEP_MS = 3600 * 1000
/** A server that applies the retention of a tenant records each step within this time. */
const HELD_MS = 120_000
const STOP_MS = 3_000
/** Between two steps, so that they take only a small part of the time of the process. */
const PAUSE_MS = 5
/** Refused tasks of a tenant start a run at most once in this time. */
const ROOM_PAUSE_MS = 10_000
/** How far tasks are counted. */
export const MAX_COUNTED = 10_000
const DEFAULT_RECEIPT_DAYS = 30

interface Deps {
  readonly engine: Engine
  readonly results: ResultStore | undefined
  readonly usage: Pick<UsageRecorder, 'freed'>
}

export interface RetentionStatus {
  readonly record: RetentionRecord
  readonly due: DueCounts
  readonly archived: ArchiveTotals
  readonly isRunning: boolean
}

/**
 * Applies the retention of tasks and receipts in the background, one server per tenant at a time. Each step is recorded, so
 * that another server, or this one after a restart, continues where the last one stopped.
 */
export class Retention {
  readonly archive: Archive
  readonly receiptDays: number
  readonly #deps: Deps
  readonly #id = randomUUID()
  readonly #sweeps: Repeater
  readonly #running = new Map<number, Promise<void>>()
  /** When the next refusal may start a run, by tenant. */
  readonly #roomAt = new Map<number, number>()
  #isStopped = false

  constructor(deps: Deps, { receiptDays = DEFAULT_RECEIPT_DAYS, archive }: RetentionOptions = {}) {
    this.#deps = deps
    this.receiptDays = receiptDays
    this.archive = new Archive(deps.engine, archive)
    this.#sweeps = new Repeater(
      SWEEP_MS,
      () => this.sweep(),
      (error) => deps.engine.report(error),
    )
  }

  start(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#sweeps.stop(STOP_MS)
    await this.settled()
  }

  /** Resolves when this server applies no retention. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** Applies the retention of every tenant for which there is something to do. */
  async sweep(): Promise<void> {
    for (const tenant of await this.#deps.engine.store.tenants()) {
      if (await this.#hasWork(tenant)) await this.run(tenant)
    }
  }

  /** Applies the retention of a tenant until nothing is due, unless it is paused or another server does. */
  run(tenant: TenantRef): Promise<void> {
    const running = this.#running.get(tenant.tenant) ?? this.#run(tenant)
    this.#running.set(tenant.tenant, running)
    const ended = () => this.#running.delete(tenant.tenant)
    running.then(ended, ended)
    return running
  }

  /** The same in the background. */
  wake(tenant: TenantRef): void {
    this.run(tenant).catch((error: unknown) => this.#deps.engine.report(error))
  }

  /** A tenant has used up a quota of what is stored: its oldest tasks are archived, if any are. */
  async makeRoom(tenant: number): Promise<void> {
    const { engine } = this.#deps
    const now = Date.now()
    if (engine.settings.task_retention_days === 0 || now < (this.#roomAt.get(tenant) ?? 0)) return
    this.#roomAt.set(tenant, now + ROOM_PAUSE_MS)
    const found = (await engine.store.tenants()).find((each) => each.tenant === tenant)
    if (found !== undefined) await this.run(found)
  }

  /** Takes effect after the current step, on whichever server it runs. */
  async setPaused(tenant: number, is_paused: boolean): Promise<void> {
    for (;;) {
      const { record, version } = await this.#read(tenant)
      if (record.is_paused === is_paused) return
      if (await this.#write(tenant, { ...record, is_paused }, version)) return
    }
  }

  async status(tenant: number): Promise<RetentionStatus> {
    const { engine } = this.#deps
    const { retention } = engine.store
    const now = await this.#now()
    const { record } = await this.#read(tenant)
    const [due, archived] = await engine.reading(() =>
      Promise.all([retention.dueCounts(tenant, now, MAX_COUNTED), retention.archiveTotals(tenant)]),
    )
    return { record, due, archived, isRunning: record.held_until > now && record.stage !== 'done' }
  }

  async #hasWork(tenant: TenantRef): Promise<boolean> {
    const { engine } = this.#deps
    const { record } = await this.#read(tenant.tenant)
    if (record.is_paused) return false
    if (record.stage !== 'done') return true
    if (engine.settings.task_retention_days > 0) return true
    const now = await this.#now()
    const due = await engine.reading(() => engine.store.retention.due(tenant.tenant, now, 1))
    return due.length > 0
  }

  async #run(tenant: TenantRef): Promise<void> {
    const onFile = (unused_file: string) => this.#noteFile(tenant.tenant, unused_file)
    const { engine, results, usage } = this.#deps
    const deps = { engine, results, usage, archive: this.archive, receiptDays: this.receiptDays }
    const run = new RetentionRun(deps, tenant, onFile)
    if (!(await this.#begin(tenant.tenant, run))) return
    try {
      while (!this.#isStopped) {
        const { record, version } = await this.#read(tenant.tenant)
        if (record.is_paused || record.holder !== this.#id || record.stage === 'done') break
        const now = await this.#now()
        const after = await run.next(record, now)
        await this.#record(tenant.tenant, after, now, version)
        await delay(PAUSE_MS)
      }
    } finally {
      await this.#release(tenant.tenant)
    }
  }

  /** Takes the run over, from its beginning or from where another server left it. False if it is not free. */
  async #begin(tenant: number, run: RetentionRun): Promise<boolean> {
    const { record, version } = await this.#read(tenant)
    const now = await this.#now()
    if (record.is_paused || (record.held_until > now && record.holder !== this.#id)) return false
    const isScheduled = record.scheduled_for === run.settings
    const fresh: RetentionRecord =
      record.stage !== 'done' && isScheduled
        ? record
        : {
            ...record,
            stage: isScheduled ? 'tasks' : 'schedule',
            status: 'succeeded',
            position: 0,
            started_at: now,
            finished_at: null,
          }
    if (record.unused_file !== null) await this.archive.removeUnused(tenant, record.unused_file)
    const taken = { ...fresh, unused_file: null, holder: this.#id, held_until: now + HELD_MS }
    return this.#write(tenant, taken, version)
  }

  /** The record after a step. Only a pause may have been recorded in between. */
  async #record(tenant: number, after: RetentionRecord, now: number, before: number): Promise<void> {
    const next = { ...after, holder: this.#id, held_until: now + HELD_MS }
    for (let version = before; !(await this.#write(tenant, next, version)); ) {
      const current = await this.#read(tenant)
      if (current.record.holder !== this.#id) return
      next.is_paused = current.record.is_paused
      version = current.version
    }
  }

  async #noteFile(tenant: number, unused_file: string): Promise<void> {
    const { record, version } = await this.#read(tenant)
    if (record.holder !== this.#id || !(await this.#write(tenant, { ...record, unused_file }, version))) {
      throw new Error('another server applies the retention now')
    }
  }

  async #release(tenant: number): Promise<void> {
    const { record, version } = await this.#read(tenant)
    if (record.holder === this.#id) await this.#write(tenant, { ...record, held_until: 0 }, version)
  }

  async #read(tenant: number): Promise<{ record: RetentionRecord; version: number }> {
    const { engine } = this.#deps
    const entry = await engine.reading(() => engine.store.entries.get(tenant, KIND, NAME))
    return entry === undefined
      ? { record: NEW_RECORD, version: 0 }
      : { record: recordIn(entry), version: entry.version }
  }

  async #write(tenant: number, record: RetentionRecord, expected: number): Promise<boolean> {
    const entry = { tenant, kind: KIND, name: NAME, value: JSON.stringify(record), due_at: null }
    return (await this.#deps.engine.writing((entries) => entries.put(entry, expected))) !== undefined
  }

  #now(): Promise<number> {
    const { engine } = this.#deps
    return engine.reading(() => engine.store.now())
  }
}

function recordIn({ value }: Entry): RetentionRecord {
  return retentionRecord.parse(JSON.parse(value))
}
