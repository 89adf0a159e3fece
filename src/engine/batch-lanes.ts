import { Fault } from '../core/errors.ts'
import {
  type ConcurrencyLimit,
  LANES_KEPT,
  type LaneRow,
  laneName,
  MAX_LANES_PER_OWNER,
  type RateLimit,
  type Wanted,
} from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { QueuedTask, Task } from '../core/task.ts'
import type { Tenant } from '../core/world.ts'
import type { Head } from '../store/store.ts'
import type { TenantLanes } from './lane-directory.ts'
import { merge, ReadyQueue } from './ready.ts'
import { joinLevels, ReadyLanes } from './ready-lanes.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The lanes of one tenant within a batch: the committed ones, with the changes of the batch applied. */
export class BatchLanes {
  /** How many tasks became ready and still are, by lane. */
  readonly becameReady = new Map<number, number>()
  /** The seqs of these tasks. */
  readonly #entered = new Set<number>()
  /** The lanes that the batch has changed, once it is decided. */
  changed: readonly LaneRow[] = []
  readonly #lanes: TenantLanes
  readonly #tenant: Mutable<Tenant>
  readonly #queues = new Map<number, ReadyQueue>()
  /** Lanes that had no ready task before the batch. */
  readonly #fresh = new ReadyLanes()
  readonly #rows = new Map<number, Mutable<LaneRow>>()
  readonly #named = new Map<string, number>()
  readonly #renamed = new Set<number>()
  /** The changes of the leases with a limit in this batch. */
  readonly #held = new Map<string, number>()
  /** The leases with a rate that start in this batch. */
  readonly #started = new Map<string, number>()
  readonly #now: number
  readonly #occupied = new Map<PrincipalKey, number>()
  readonly #empty: { lanes?: Iterator<number>; pools?: Iterator<number> } = {}

  constructor(lanes: TenantLanes, tenant: Mutable<Tenant>, heads: readonly Head[], now: number) {
    this.#now = now
    this.#lanes = lanes
    this.#tenant = tenant
    for (const head of heads) {
      // A lane without a mark is treated like lanes that were not loaded.
      if (head.tenant !== tenant.tenant || (lanes.get(head.lane)?.mark ?? null) === null) continue
      this.#queues.set(head.lane, new ReadyQueue(head))
    }
  }

  /** The lane and the pool of a new task. New ones get a number. */
  place(
    type: string,
    capabilities: readonly string[],
    priority: number,
    owner: PrincipalKey,
    limit: ConcurrencyLimit | null = null,
    rate: RateLimit | null = null,
  ) {
    const rated = rate?.rated ?? null
    const limited = limit?.limited ?? null
    const known = this.#find(laneName(type, capabilities, priority, limited, rated))
    if (known === undefined || known.tasks === 0) this.#checkLimit(owner)
    const pool = this.#number(null, capabilities, priority, limited, rated)
    const lane = known?.lane ?? this.#number(type, capabilities, priority, limited, rated)
    if (limit !== null && this.#row(lane)?.max_held !== limit.max_held) {
      this.#change(lane).max_held = limit.max_held
    }
    if (rate !== null) this.#setRate(lane, rate)
    return { pool, lane }
  }

  /** A task of the lane was leased, or its lease ended. Only lanes with a limit count them. */
  hold({ lane }: Task, difference: 1 | -1): void {
    const row = this.#row(lane)
    if (difference > 0 && row !== undefined && row.rated !== null) this.#start(row, row.rated)
    const limited = row?.limited ?? null
    if (limited === null) return
    this.#change(lane).held += difference
    this.#held.set(limited, (this.#held.get(limited) ?? 0) + difference)
    if (difference > 0) return
    // The claims that wait for tasks behind the limit are woken.
    for (const row of this.#lanes.waiting(limited)) {
      if (row.type !== null && !this.becameReady.has(row.lane)) this.becameReady.set(row.lane, 1)
    }
  }

  /** A changed rate applies from the next task. */
  #setRate(lane: number, { limit, seconds }: RateLimit): void {
    const rate = this.#row(lane)?.rate ?? null
    if (rate?.limit === limit && rate.seconds === seconds) return
    this.#change(lane).rate = { limit, seconds, at: rate?.at ?? 0, started: rate?.started ?? 0 }
  }

  /** Counts a lease in the window of its rate, which begins now if the last one has ended. */
  #start({ lane, rate }: LaneRow, rated: string): void {
    if (rate === null) return
    const { at } = this.#lanes.rates.window(rated, this.#now)
    const started = rate.at === at ? rate.started + 1 : 1
    this.#change(lane).rate = { limit: rate.limit, seconds: rate.seconds, at, started }
    this.#started.set(rated, (this.#started.get(rated) ?? 0) + 1)
  }

  /** How many more leases with this rate may start now. */
  #rateRoom(rated: string): number {
    return this.#lanes.rates.window(rated, this.#now).room - (this.#started.get(rated) ?? 0)
  }

  /** How many more tasks with this limit may be leased now. */
  #room(limited: string): number {
    return this.#lanes.room(limited) - (this.#held.get(limited) ?? 0)
  }

  /** Adds an open task to the counts of its lane and pool, or removes it. */
  count({ lane, pool, owner }: Task, difference: 1 | -1): void {
    this.#change(pool).tasks += difference
    const row = this.#change(lane)
    row.tasks += difference
    if (row.owner === null && difference > 0) {
      row.owner = owner
      this.#occupy(owner, 1)
    }
    if (row.owner !== owner) return
    row.owned += difference
    if (row.owned > 0) return
    row.owner = null
    this.#occupy(owner, -1)
  }

  /** The task became ready. */
  enter(task: QueuedTask): void {
    this.#entered.add(task.seq)
    this.becameReady.set(task.lane, (this.becameReady.get(task.lane) ?? 0) + 1)
    for (const lane of [task.lane, task.pool]) {
      const row = this.#change(lane)
      const queue = this.#queues.get(lane) ?? (row.mark === null ? this.#startQueue(row) : undefined)
      if (queue !== undefined) queue.add(task)
      else row.mark = Math.min(row.mark ?? task.rank, task.rank)
    }
  }

  /** The task is no longer ready. */
  leave(task: QueuedTask): void {
    if (this.#entered.delete(task.seq)) {
      const left = (this.becameReady.get(task.lane) ?? 0) - 1
      if (left > 0) this.becameReady.set(task.lane, left)
      else this.becameReady.delete(task.lane)
    }
    this.#queues.get(task.lane)?.remove(task)
    this.#queues.get(task.pool)?.remove(task)
  }

  /** The loaded ready tasks that match, best first. Returns whether more may follow in the store. */
  *ready(wanted: Wanted): Generator<QueuedTask, boolean, undefined> {
    const seen = new Set<string>()
    const taken = new Map<string, number>()
    for (const { lanes } of joinLevels(this.#lanes.ready.levels(wanted), this.#fresh.levels(wanted))) {
      const queues: ReadyQueue[] = []
      // The lowest rank of a lane that was not loaded: tasks behind it have to wait.
      let bound = Number.POSITIVE_INFINITY
      for (const { lane, limited, rated } of lanes) {
        if (limited !== null && this.#room(limited) <= 0) continue
        if (rated !== null && this.#rateRoom(rated) <= 0) continue
        const queue = this.#queues.get(lane)
        if (queue !== undefined) queues.push(queue)
        else bound = Math.min(bound, this.#row(lane)?.mark ?? 0)
      }
      if (yield* this.#within(merge(queues, seen, bound), taken)) return true
    }
    return false
  }

  /** Without the tasks that exceed a limit together with those before them, which `taken` counts. */
  *#within(
    tasks: Generator<QueuedTask, boolean, undefined>,
    taken: Map<string, number>,
  ): Generator<QueuedTask, boolean, undefined> {
    for (;;) {
      const next = tasks.next()
      if (next.done) return next.value
      const { limited = null, rated = null } = this.#row(next.value.lane) ?? {}
      const count = limited === null ? 0 : (taken.get(limited) ?? 0)
      if (limited !== null && count >= this.#room(limited)) continue
      if (rated !== null) {
        const name = `rate ${rated}`
        const starting = taken.get(name) ?? 0
        if (starting >= this.#rateRoom(rated)) continue
        taken.set(name, starting + 1)
      }
      if (limited !== null) taken.set(limited, count + 1)
      yield next.value
    }
  }

  /** The rows to write, in their final form, with the next version. Must be called once. */
  changes(): { lanes: LaneRow[]; counted: LaneRow[] } {
    for (const [lane, queue] of this.#queues) {
      if (queue.mark !== this.#row(lane)?.mark) this.#change(lane).mark = queue.mark
    }
    const version = this.#tenant.lanes_version + 1
    const lanes: LaneRow[] = []
    const counted: LaneRow[] = []
    for (const [lane, row] of this.#rows) {
      if (row.tasks === 0) row.mark = null
      if (this.#renamed.has(lane)) lanes.push({ ...row, version })
      else if (!isSame(row, this.#lanes.get(lane))) counted.push({ ...row, version })
    }
    this.changed = [...lanes, ...counted]
    if (this.changed.length > 0) this.#tenant.lanes_version = version
    return { lanes, counted }
  }

  #row(lane: number): LaneRow | undefined {
    return this.#rows.get(lane) ?? this.#lanes.get(lane)
  }

  #change(lane: number): Mutable<LaneRow> {
    const changed = this.#rows.get(lane)
    if (changed !== undefined) return changed
    const row = this.#lanes.get(lane)
    if (row === undefined) throw new Error(`there is no lane ${lane} in tenant ${this.#tenant.tenant}`)
    const copy = { ...row }
    this.#rows.set(lane, copy)
    return copy
  }

  #find(name: string): LaneRow | undefined {
    const named = this.#named.get(name)
    if (named !== undefined) return this.#rows.get(named)
    const row = this.#lanes.find(name)
    return row === undefined || this.#renamed.has(row.lane) ? undefined : this.#row(row.lane)
  }

  #number(
    type: string | null,
    capabilities: readonly string[],
    priority: number,
    limited: string | null,
    rated: string | null,
  ): number {
    const name = laneName(type, capabilities, priority, limited, rated)
    const known = this.#find(name)
    if (known !== undefined) return known.lane
    const { tenant } = this.#tenant
    const lane = this.#takeEmpty(type === null ? 'pools' : 'lanes') ?? ++this.#tenant.lanes
    const state = {
      mark: null,
      tasks: 0,
      owner: null,
      owned: 0,
      version: 0,
      max_held: null,
      held: 0,
      rate: null,
    }
    this.#rows.set(lane, { tenant, lane, type, capabilities, priority, limited, rated, ...state })
    this.#named.set(name, lane)
    this.#renamed.add(lane)
    return lane
  }

  /** A lane that was empty before the batch and that the batch has not touched. */
  #takeEmpty(kind: 'lanes' | 'pools'): number | undefined {
    if (this.#tenant.lanes < LANES_KEPT) return undefined
    const empty = this.#empty[kind] ?? this.#lanes.empty(kind)
    this.#empty[kind] = empty
    for (let next = empty.next(); !next.done; next = empty.next()) {
      if (!this.#rows.has(next.value) && !this.#lanes.isCounted(next.value)) return next.value
    }
    return undefined
  }

  #startQueue(row: LaneRow): ReadyQueue {
    const queue = new ReadyQueue()
    this.#queues.set(row.lane, queue)
    this.#fresh.add(row)
    return queue
  }

  #occupy(owner: PrincipalKey, difference: 1 | -1): void {
    this.#occupied.set(owner, (this.#occupied.get(owner) ?? 0) + difference)
  }

  /** The limit is per owner, so that one owner cannot exhaust it for others. */
  #checkLimit(owner: PrincipalKey): void {
    const limit = MAX_LANES_PER_OWNER
    if (this.#lanes.occupiedBy(owner) + (this.#occupied.get(owner) ?? 0) < limit) return
    throw new Fault(
      'QUOTA_EXCEEDED',
      { quota: 'lanes_per_owner', limit, owner },
      `The open tasks of ${owner} have ${limit} different combinations of type, capabilities, priority and concurrency key. ` +
        'One owner cannot have more at a time.',
    )
  }
}

function isSame(a: LaneRow, b: LaneRow | undefined): boolean {
  return (
    b !== undefined &&
    a.mark === b.mark &&
    a.tasks === b.tasks &&
    a.owner === b.owner &&
    a.owned === b.owned &&
    a.held === b.held &&
    a.rate === b.rate &&
    a.max_held === b.max_held
  )
}
