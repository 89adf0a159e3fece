import { setTimeout as delay } from 'node:timers/promises'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Entry } from '../../store/entries.ts'
import { Repeater } from '../../util/repeater.ts'
import { nextTurn } from '../../util/turns.ts'
import { type ErasureRecord, erasureRecord, newErasure } from './erasure-record.ts'
import { type ErasureDeps, ErasureRun } from './erasure-run.ts'

const KIND = 'erasure'

/** How often a server looks for erasures that another one has left unfinished. */
const SWEEP_MS = 30_000
/** A server that works on an erasure records each step within this time. */
const STEP_MS = 60_000
const PER_SWEEP = 10
const STOP_MS = 3_000
/** How often a waiting caller looks what another server has done. */
const POLL_MS = 250

/**
 * Erasures of the data of principals. Each step is recorded, so that another server, or this one after a restart,
 * continues where the last one stopped.
 */
export class Erasures {
  readonly #deps: ErasureDeps
  readonly #sweeps: Repeater
  readonly #running = new Map<string, Promise<ErasureRecord>>()
  #isStopped = false

  constructor(deps: ErasureDeps) {
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

  async get(tenant: number, principal: PrincipalKey): Promise<ErasureRecord | undefined> {
    const entry = await this.#read(tenant, principal)
    return entry && recordIn(entry)
  }

  /** Starts an erasure, unless one is running, and resolves with it. It then goes on in the background. */
  async request(tenant: number, principal: PrincipalKey, by: PrincipalKey): Promise<ErasureRecord> {
    for (;;) {
      const entry = await this.#read(tenant, principal)
      const last = entry && recordIn(entry)
      const record = last === undefined || last.stage === 'done' ? newErasure(by, await this.#now()) : last
      if (
        record !== last &&
        (await this.#write(tenant, principal, record, entry?.version ?? 0)) === undefined
      ) {
        continue
      }
      this.#advance(tenant, principal).catch((error: unknown) => this.#deps.engine.report(error))
      return record
    }
  }

  /** The last erasure, as soon as it is done, or after this time. Another server may be working on it. */
  async wait(
    tenant: number,
    principal: PrincipalKey,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ErasureRecord | undefined> {
    const end = performance.now() + waitMs
    for (;;) {
      const record = await this.get(tenant, principal)
      const rest = end - performance.now()
      if (record === undefined || record.stage === 'done' || rest <= 0 || signal?.aborted) return record
      const pause = delay(Math.min(rest, POLL_MS), undefined, { signal }).catch(() => {})
      await Promise.race([this.#running.get(nameOf(tenant, principal)) ?? pause, pause]).catch(() => pause)
    }
  }

  /** Resolves when this server works on no erasure. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** Continues the erasures that nobody works on. */
  async sweep(): Promise<void> {
    const { engine } = this.#deps
    const now = await this.#now()
    for (const { tenant } of await engine.store.tenants()) {
      const due = await engine.store.entries.due(tenant, KIND, now, PER_SWEEP)
      for (const { name } of due) await this.#advance(tenant, name as PrincipalKey)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#sweeps.stop(STOP_MS)
    await this.settled()
  }

  #advance(tenant: number, principal: PrincipalKey): Promise<ErasureRecord> {
    const name = nameOf(tenant, principal)
    const running = this.#running.get(name) ?? this.#run(tenant, principal)
    this.#running.set(name, running)
    const ended = () => this.#running.delete(name)
    running.then(ended, ended)
    return running
  }

  async #run(tenant: number, principal: PrincipalKey): Promise<ErasureRecord> {
    const run = new ErasureRun(this.#deps, tenant, principal)
    for (;;) {
      const entry = await this.#read(tenant, principal)
      if (entry === undefined) throw new Error(`the erasure of ${principal} is not stored`)
      const record = recordIn(entry)
      if (record.stage === 'done' || this.#isStopped) return record
      const after = await run.next(record)
      // Another server has recorded a step in between: the work goes on from there.
      await this.#write(tenant, principal, after, entry.version)
      await nextTurn()
    }
  }

  #read(tenant: number, principal: PrincipalKey): Promise<Entry | undefined> {
    const { engine } = this.#deps
    return engine.reading(() => engine.store.entries.get(tenant, KIND, principal))
  }

  async #write(tenant: number, principal: PrincipalKey, record: ErasureRecord, expected: number) {
    const due_at = record.stage === 'done' ? null : (await this.#now()) + STEP_MS
    const entry = { tenant, kind: KIND, name: principal, value: JSON.stringify(record), due_at }
    return this.#deps.engine.writing((entries) => entries.put(entry, expected))
  }

  #now(): Promise<number> {
    const { engine } = this.#deps
    return engine.reading(() => engine.store.now())
  }
}

function nameOf(tenant: number, principal: PrincipalKey): string {
  return `${tenant} ${principal}`
}

function recordIn({ value }: Entry): ErasureRecord {
  return erasureRecord.parse(JSON.parse(value))
}
