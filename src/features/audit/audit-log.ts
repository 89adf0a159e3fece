import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import type { AuditRow } from '../../store/audit.ts'
import type { Store, TenantRef } from '../../store/store.ts'
import { backoff } from '../../util/backoff.ts'
import { FailureCounts } from './failure-counts.ts'
import { masked, maskedText } from './masking.ts'
import { AUDIT_EVENTS, type AuditAlerts, type AuditEvent, type AuditSink } from './port.ts'

/** Events in memory that are not stored yet. More are dropped, and their number is recorded. */
const MAX_PENDING = 2_000
const PER_WRITE = 500
const FLUSH_MS = 500
/** How often counts of failures are checked while there are any. */
const CHECK_MS = 5_000
const MAX_PAUSE_MS = 60_000
/** After this many attempts, events that the database refuses while it works are dropped. */
const MAX_ATTEMPTS = 5
const STOP_MS = 3_000

/** A server starts faster without a sweep. */
const FIRST_SWEEP_MS = 60_000
const SWEEP_MS = 3_600_000
const PER_REMOVAL = 500
const REMOVAL_PAUSE_MS = 50
const DAY_MS = 86_400_000

export const DEFAULT_RETENTION_DAYS = 90

/** Maximum length of the details of an event, as JSON. */
const MAX_DETAILS = 4_000

interface Deps {
  readonly store: Pick<Store, 'audit' | 'tenants' | 'ping'>
  tenant(name: string): Promise<TenantRef>
  report(error: unknown): void
}

export interface AuditOptions {
  /** How long events are stored. */
  readonly retentionDays?: number | undefined
  /** Receives critical events; nobody is told about them if absent. */
  readonly alerts?: AuditAlerts | undefined
}

interface Pending {
  readonly at: number
  readonly event: AuditEvent
}

/**
 * Stores events in the background, so that no request waits for it. Events that cannot be stored are tried again as long
 * as they fit into memory.
 */
export class AuditLog implements AuditSink {
  readonly #deps: Deps
  readonly #retentionDays: number
  readonly #alerts: AuditAlerts | undefined
  /** Critical events whose alert is stored, although they are not. */
  readonly #alerted = new WeakSet<AuditRowDraft>()
  readonly #listeners = new Set<(event: AuditEvent) => void>()
  readonly #failures = new FailureCounts()
  #pending: AuditRowDraft[] = []
  #dropped = 0
  #attempts = 0
  #counter = 0
  #timer: NodeJS.Timeout | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #sweeping: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(deps: Deps, { retentionDays = DEFAULT_RETENTION_DAYS, alerts }: AuditOptions = {}) {
    this.#deps = deps
    this.#retentionDays = retentionDays
    this.#alerts = alerts
  }

  /** Calls back with every event, also with those that are counted together. Returns an unsubscribe function. */
  onEvent(listener: (event: AuditEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  record(event: AuditEvent): void {
    try {
      for (const listener of this.#listeners) listener(event)
      const now = Date.now()
      const admitted = this.#failures.admit(event, now)
      if (admitted !== undefined) this.#add({ at: now, event: admitted })
      this.#schedule()
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** Stores what is pending. Resolves also if that failed: it is then tried again later. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
      this.#schedule()
    })
    return this.#flushing
  }

  /** Removes events after their retention period, soon and then every hour. */
  startSweeps(pause = FIRST_SWEEP_MS): void {
    if (this.#isStopped) return
    this.#sweepTimer = setTimeout(() => {
      this.#sweeping = this.sweep()
        .catch((error) => this.#deps.report(error))
        .then(() => this.startSweeps(SWEEP_MS))
    }, pause)
    this.#sweepTimer.unref()
  }

  /** Resolves with the number of removed events. Small steps leave the database to others. */
  async sweep(now = Date.now()): Promise<number> {
    const before = auditIdAt(now - this.#retentionDays * DAY_MS)
    let removed = 0
    for (const { tenant } of await this.#deps.store.tenants()) {
      for (let count = PER_REMOVAL; count === PER_REMOVAL && !this.#isStopped; ) {
        count = await this.#deps.store.audit.removeBefore(tenant, before, PER_REMOVAL)
        removed += count
        if (count === PER_REMOVAL) await delay(REMOVAL_PAUSE_MS)
      }
    }
    return removed
  }

  /** Stores everything, within a few seconds. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#sweepTimer)
    await this.#sweeping
    const now = Date.now()
    for (const event of this.#failures.take(now, true)) this.#add({ at: now, event })
    if (this.#pending.length === 0 && this.#dropped === 0 && this.#flushing === undefined) return
    const late = new AbortController()
    const stored = this.flush().then(() => (this.#pending.length > 0 ? this.flush() : undefined))
    await Promise.race([stored, delay(STOP_MS, undefined, { signal: late.signal }).catch(() => {})])
    late.abort()
    const lost = this.#pending.length + this.#dropped
    if (lost > 0) this.#deps.report(new Error(`${lost} events of the audit log could not be stored`))
  }

  #add({ at, event }: Pending): void {
    if (this.#pending.length < MAX_PENDING) this.#pending.push(draftOf(event, at, this.#nextId(at)))
    else this.#dropped++
  }

  #nextId(at: number): string {
    this.#counter = (this.#counter + 1) % 0x10000
    const counter = this.#counter.toString(16).padStart(4, '0')
    return `${auditIdAt(at)}${counter}${randomBytes(6).toString('hex')}`
  }

  #schedule(): void {
    if (this.#isStopped || this.#timer !== undefined || this.#flushing !== undefined) return
    const hasPending = this.#pending.length > 0 || this.#dropped > 0
    if (!hasPending && this.#failures.isEmpty) return
    const pause = hasPending ? backoff(this.#attempts + 1, FLUSH_MS, MAX_PAUSE_MS) : CHECK_MS
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const now = Date.now()
      for (const event of this.#failures.take(now)) this.#add({ at: now, event })
      void this.flush()
    }, pause)
    this.#timer.unref()
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0 || this.#dropped > 0) {
      this.#noteDropped()
      const [first] = this.#pending
      if (first === undefined) return
      const batch = this.#pending.filter(({ of }) => of === first.of).slice(0, PER_WRITE)
      try {
        const { tenant } = await this.#deps.tenant(first.of)
        await this.#alert(first.of, tenant, batch)
        await this.#deps.store.audit.add(
          tenant,
          batch.map((draft) => rowOf(draft, tenant)),
        )
        this.#attempts = 0
      } catch (error) {
        this.#deps.report(error)
        this.#attempts++
        if (this.#attempts < MAX_ATTEMPTS || !(await this.#isDatabaseUp())) return
        // Something in these events cannot be stored, and must not hold up the others.
        this.#attempts = 0
        this.#dropped += batch.length
      }
      const done = new Set(batch)
      this.#pending = this.#pending.filter((row) => !done.has(row))
    }
  }

  /**
   * Alerts are stored before their events, so that a crash in between loses neither. An alert that cannot be stored does
   * not hold up the log.
   */
  async #alert(name: string, tenant: number, batch: readonly AuditRowDraft[]): Promise<void> {
    if (this.#alerts === undefined) return
    const critical = batch.filter((row) => row.severity === 'critical' && !this.#alerted.has(row))
    if (critical.length === 0) return
    try {
      await this.#alerts.add(
        name,
        critical.map((draft) => rowOf(draft, tenant)),
      )
      for (const row of critical) this.#alerted.add(row)
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** That events were dropped is an event, too. There is always room for one. */
  #noteDropped(): void {
    if (this.#dropped === 0) return
    const at = Date.now()
    const details = { count: this.#dropped }
    this.#dropped = 0
    const event: AuditEvent = { event: 'events_dropped', tenant: DEFAULT_TENANT, details }
    for (const listener of this.#listeners) listener(event)
    this.#pending.push(draftOf(event, at, this.#nextId(at)))
  }

  async #isDatabaseUp(): Promise<boolean> {
    return this.#deps.store.ping().then(
      () => true,
      () => false,
    )
  }
}

/** A row whose tenant is known by name. */
type AuditRowDraft = Omit<AuditRow, 'tenant'> & { readonly of: string }

function rowOf({ of: _, ...row }: AuditRowDraft, tenant: number): AuditRow {
  return { ...row, tenant }
}

function draftOf(given: AuditEvent, at: number, id: string): AuditRowDraft {
  const { event, origin, details = {} } = given
  const { severity, outcome } = AUDIT_EVENTS[event]
  const forwarded_for = text(origin?.forwarded_for, 200)
  return {
    of: given.tenant,
    id,
    at,
    event,
    severity,
    outcome,
    principal: text(given.principal, 300),
    subject: text(given.subject, 300),
    reason: text(given.reason, 300),
    ip: text(origin?.ip, 64),
    user_agent: text(origin?.user_agent, 300),
    request_id: text(origin?.request_id, 128),
    key_id: text(given.key_id, 64),
    details: detailsText({ ...details, ...(forwarded_for !== null && { forwarded_for }) }),
  }
}

function detailsText(details: object): string {
  const json = JSON.stringify(masked(details))
  return json.length <= MAX_DETAILS ? json : JSON.stringify({ truncated: true, start: json.slice(0, 1_000) })
}

/** Text that both stores can store. */
function text(value: string | null | undefined, max: number): string | null {
  return value ? maskedText(value.slice(0, max).toWellFormed().replaceAll('\0', '')) : null
}

/** Ids sort by time: the least id of an event at this time. The rest of an id makes it unique. */
export function auditIdAt(at: number): string {
  return Math.max(0, at).toString(16).padStart(12, '0')
}
