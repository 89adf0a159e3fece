import { taskTime } from '../../core/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskEvent } from '../../engine/events.ts'

/** The newest durations of a type, in seconds. */
const SAMPLES = 20

/** Clients choose the names of types, so the number of types must be limited. */
const MAX_TYPES = 10_000

/** The stored successes that are read for types that this process knows little about. */
const SCANNED = 500
const READ = 50
const READ_PER_TYPE = 5
const READ_EVERY_MS = 60_000

/**
 * How long tasks of a type usually take from their creation to their success: the median of recent ones. Completions of this process cost one entry in
 * memory. Those of other processes, and those before the start, are read from the newest tasks, when they are asked for.
 */
export class UsualDurations {
  readonly #engine: Engine
  /** By tenant and type, the type that was added first comes first. */
  readonly #seen = new Map<string, number[]>()
  readonly #stored = new Map<number, { readonly at: number; readonly byType: Promise<DurationsByType> }>()

  constructor(engine: Engine) {
    this.#engine = engine
    engine.events.onTask((event) => this.#happened(event))
  }

  /** A function from a type to the median in seconds; undefined if no success is known. */
  async of(tenant: number): Promise<(type: string) => number | undefined> {
    const stored = await this.#read(tenant)
    return (type) => {
      const samples = [...(this.#seen.get(keyOf(tenant, type)) ?? []), ...(stored.get(type) ?? [])]
      return samples.length === 0 ? undefined : median(samples)
    }
  }

  #happened({ tenant, task_id, type, status, completed_at, at }: TaskEvent): void {
    // A success that gains its evidence later causes a second event.
    if (status !== 'succeeded' || completed_at !== at) return
    const key = keyOf(tenant, type)
    const samples = this.#seen.get(key)
    const seconds = secondsOf(task_id, completed_at)
    if (samples === undefined) this.#add(key, seconds)
    else {
      if (samples.length >= SAMPLES) samples.shift()
      samples.push(seconds)
    }
  }

  #add(key: string, seconds: number): void {
    if (this.#seen.size >= MAX_TYPES) {
      const [first] = this.#seen.keys()
      if (first !== undefined) this.#seen.delete(first)
    }
    this.#seen.set(key, [seconds])
  }

  #read(tenant: number): Promise<DurationsByType> {
    const now = Date.now()
    const known = this.#stored.get(tenant)
    if (known !== undefined && now - known.at < READ_EVERY_MS) return known.byType
    const byType = this.#engine.reading(() => this.#newest(tenant)).catch(() => NONE)
    this.#stored.set(tenant, { at: now, byType })
    return byType
  }

  async #newest(tenant: number): Promise<DurationsByType> {
    const { reads } = this.#engine.store
    const path = { by: 'status', status: 'succeeded' } as const
    const lines = await reads.scan(tenant, path, Number.MAX_SAFE_INTEGER, SCANNED)
    const wanted = new Map<string, string[]>()
    let count = 0
    for (const { type, task_id } of lines) {
      const ids = wanted.get(type) ?? []
      if (ids.length >= READ_PER_TYPE || this.#seen.has(keyOf(tenant, type))) continue
      wanted.set(type, [...ids, task_id])
      if (++count === READ) break
    }
    const byType = new Map<string, number[]>()
    for (const [type, ids] of wanted) {
      const tasks = await Promise.all(ids.map((id) => reads.state(tenant, id)))
      const durations = tasks.flatMap((task) =>
        task !== undefined && 'outcome' in task ? secondsOf(task.task_id, task.outcome.completed_at) : [],
      )
      byType.set(type, durations)
    }
    return byType
  }
}

type DurationsByType = ReadonlyMap<string, readonly number[]>

const NONE: DurationsByType = new Map()

function secondsOf(task_id: string, completed_at: number): number {
  return Math.max(0, completed_at - taskTime(task_id)) / 1000
}

/** Rounded to two digits: it is an estimate. */
function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  return Number(middle.toPrecision(2))
}

function keyOf(tenant: number, type: string): string {
  return `${tenant} ${type}`
}
