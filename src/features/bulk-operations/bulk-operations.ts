import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import { timeId } from '../../core/ids.ts'
import type { Entry } from '../../store/entries.ts'
import { Repeater } from '../../util/repeater.ts'
import { nextTurn } from '../../util/turns.ts'
import type { CreateDeps } from '../tasks/create.ts'
import { nextStep } from './bulk-run.ts'
import { type BulkRecord, bulkRecord, isByIds } from './record.ts'

const KIND = 'bulk-operation'

/** How often a server looks for operations that another one has left unfinished. */
const SWEEP_MS = 30_000
/** A server that works on an operation records each step within this time. */
const STEP_MS = 60_000
/** How long an operation that has ended is stored. */
const STORED_MS = 7 * 86_400_000
const MAX_STORED = 200
const PER_SWEEP = 10
const STOP_MS = 3_000
/** How often a waiting caller looks what another server has done. */
const POLL_MS = 250
/** How long an operation pauses while the gate refuses, for example because a quota is used up. */
const HELD_MS = 1_000

export interface StoredBulk {
  readonly bulk_id: string
  readonly record: BulkRecord
}

/**
 * Bulk operations run in the background. Each step is recorded, so that another server, or this one after a restart,
 * continues where the last one stopped.
 */
export class BulkOperations {
  readonly #deps: CreateDeps
  readonly #sweeps: Repeater
  readonly #running = new Map<string, Promise<void>>()
  readonly #stopped = new AbortController()
  readonly #held = new Set<NodeJS.Timeout>()

  constructor(deps: CreateDeps) {
    this.#deps = deps
    this.#sweeps = new Repeater(
      SWEEP_MS,
      () => this.sweep(),
      (error) => deps.engine.report(error),
    )
  }

  start(): void {
    this.#sweeps.wake()
  }

  async get(tenant: number, bulkId: string): Promise<BulkRecord | undefined> {
    const entry = await this.#read(tenant, bulkId)
    return entry && recordIn(entry)
  }

  /** The operations of a tenant, newest first. */
  async list(tenant: number): Promise<StoredBulk[]> {
    const { engine } = this.#deps
    const entries = await engine.reading(() => engine.store.entries.list(tenant, KIND, '', MAX_STORED))
    return entries.map((entry) => ({ bulk_id: entry.name, record: recordIn(entry) })).reverse()
  }

  /** Stores an operation, and runs it in the background. */
  async request(tenant: number, record: BulkRecord): Promise<string> {
    await this.#makeRoom(tenant)
    const bulkId = timeId(record.requested_at, this.#deps.engine.random)
    await this.#write(tenant, bulkId, record, 0)
    this.#advance(tenant, bulkId).catch((error: unknown) => this.#deps.engine.report(error))
    return bulkId
  }

  /** The operation, as soon as it has ended, or after this time. */
  async wait(
    tenant: number,
    bulkId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<BulkRecord | undefined> {
    const end = performance.now() + waitMs
    for (;;) {
      const record = await this.get(tenant, bulkId)
      const rest = end - performance.now()
      if (record === undefined || record.state !== 'running' || rest <= 0 || signal?.aborted) return record
      const pause = delay(Math.min(rest, POLL_MS), undefined, { signal }).catch(() => {})
      await Promise.race([this.#running.get(nameOf(tenant, bulkId)) ?? pause, pause]).catch(() => pause)
    }
  }

  /** Ends an operation after the step that is running. What it has done stays. */
  async abort(tenant: number, bulkId: string): Promise<BulkRecord | undefined> {
    for (;;) {
      const entry = await this.#read(tenant, bulkId)
      if (entry === undefined) return undefined
      const record = recordIn(entry)
      if (record.state !== 'running') return record
      const aborted: BulkRecord = { ...record, state: 'aborted' }
      if ((await this.#write(tenant, bulkId, aborted, entry.version)) !== undefined) return aborted
    }
  }

  /** Resolves when this server works on no operation. Those that pause do not count. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** Continues the operations that no server works on, and removes those that ended long ago. */
  async sweep(): Promise<void> {
    const { engine } = this.#deps
    const now = await this.#now()
    for (const { tenant } of await engine.store.tenants()) {
      for (const entry of await engine.store.entries.due(tenant, KIND, now, PER_SWEEP)) {
        if (recordIn(entry).state === 'running') await this.#advance(tenant, entry.name)
        else await engine.writing((entries) => entries.remove(tenant, KIND, entry.name))
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    for (const timer of this.#held) clearTimeout(timer)
    await this.#sweeps.stop(STOP_MS)
    await this.settled()
  }

  /** The oldest operation that has ended makes room for a new one. */
  async #makeRoom(tenant: number): Promise<void> {
    const stored = await this.list(tenant)
    if (stored.length < MAX_STORED) return
    const oldest = stored.findLast(({ record }) => record.state !== 'running')
    if (oldest === undefined) {
      throw new Fault('OVERLOADED', {}, `Limit of ${MAX_STORED} bulk operations reached. Abort some of them.`)
    }
    await this.#deps.engine.writing((entries) => entries.remove(tenant, KIND, oldest.bulk_id))
  }

  #advance(tenant: number, bulkId: string): Promise<void> {
    const name = nameOf(tenant, bulkId)
    const running = this.#running.get(name) ?? this.#run(tenant, bulkId)
    this.#running.set(name, running)
    const ended = () => this.#running.delete(name)
    running.then(ended, ended)
    return running
  }

  async #run(tenant: number, bulkId: string): Promise<void> {
    const { signal } = this.#stopped
    for (;;) {
      const entry = await this.#read(tenant, bulkId)
      const record = entry && recordIn(entry)
      if (entry === undefined || record?.state !== 'running' || signal.aborted) return
      const step = await nextStep(this.#deps, tenant, bulkId, record)
      const written = await this.#write(tenant, bulkId, step.record, entry.version)
      if (written === undefined) await this.#addTo(tenant, bulkId, record, step.record)
      if (step.isHeld) return this.#hold(tenant, bulkId)
      await nextTurn()
    }
  }

  /** Continues the operation after a pause. */
  #hold(tenant: number, bulkId: string): void {
    const timer = setTimeout(() => {
      this.#held.delete(timer)
      this.#advance(tenant, bulkId).catch((error: unknown) => this.#deps.engine.report(error))
    }, HELD_MS)
    timer.unref()
    this.#held.add(timer)
  }

  /** Counts a step during which the operation was aborted. */
  async #addTo(tenant: number, bulkId: string, before: BulkRecord, after: BulkRecord): Promise<void> {
    for (;;) {
      const entry = await this.#read(tenant, bulkId)
      const record = entry && recordIn(entry)
      // Another server has recorded the step: the work goes on from there.
      if (entry === undefined || record?.state !== 'aborted') return
      const counted = {
        ...record,
        done: record.done + after.done - before.done,
        skipped: record.skipped + after.skipped - before.skipped,
        failed: record.failed + after.failed - before.failed,
        last_error: after.last_error,
      }
      if ((await this.#write(tenant, bulkId, counted, entry.version)) !== undefined) return
    }
  }

  #read(tenant: number, bulkId: string): Promise<Entry | undefined> {
    const { engine } = this.#deps
    return engine.reading(() => engine.store.entries.get(tenant, KIND, bulkId))
  }

  async #write(tenant: number, bulkId: string, record: BulkRecord, expected: number) {
    const now = await this.#now()
    const isRunning = record.state === 'running'
    const stored = isRunning ? record : ended(record, now)
    const due_at = now + (isRunning ? STEP_MS : STORED_MS)
    const entry = { tenant, kind: KIND, name: bulkId, value: JSON.stringify(stored), due_at }
    return this.#deps.engine.writing((entries) => entries.put(entry, expected))
  }

  #now(): Promise<number> {
    const { engine } = this.#deps
    return engine.reading(() => engine.store.now())
  }
}

/** The ids, of which there may be many, are no longer needed. */
function ended(record: BulkRecord, now: number): BulkRecord {
  const { selection, finished_at } = record
  return {
    ...record,
    finished_at: finished_at ?? now,
    selection: isByIds(selection) ? { task_ids: [] } : selection,
  }
}

function nameOf(tenant: number, bulkId: string): string {
  return `${tenant} ${bulkId}`
}

function recordIn({ value }: Entry): BulkRecord {
  return bulkRecord.parse(JSON.parse(value))
}
