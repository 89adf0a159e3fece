import { type Lane, servable, type Wanted } from '../core/matching.ts'

/** Lanes of equal priority for a claim: their tasks are ordered by rank alone. */
export interface Level {
  readonly preferred: boolean
  readonly priority: number
  readonly lanes: Lane[]
}

/** The lanes of one type, by priority. */
interface CatalogEntry {
  /** Highest first. */
  readonly priorities: number[]
  readonly lanes: Map<number, Map<number, Lane>>
}

const NONE: ReadonlySet<string> = new Set()
const ANY: readonly null[] = [null]

/** Lanes with ready tasks. A claim iterates over matching lanes, best first, at no cost for the others. */
export class ReadyLanes {
  readonly #types = new Map<string | null, CatalogEntry>()

  add(lane: Lane): void {
    const entry = this.#types.get(lane.type) ?? { priorities: [], lanes: new Map() }
    this.#types.set(lane.type, entry)
    const peers = entry.lanes.get(lane.priority)
    if (peers !== undefined) {
      peers.set(lane.lane, lane)
      return
    }
    entry.lanes.set(lane.priority, new Map([[lane.lane, lane]]))
    entry.priorities.splice(place(entry.priorities, lane.priority), 0, lane.priority)
  }

  delete(lane: Lane): void {
    const entry = this.#types.get(lane.type)
    const peers = entry?.lanes.get(lane.priority)
    if (entry === undefined || peers === undefined || !peers.delete(lane.lane) || peers.size > 0) return
    entry.lanes.delete(lane.priority)
    entry.priorities.splice(place(entry.priorities, lane.priority), 1)
    if (entry.priorities.length === 0) this.#types.delete(lane.type)
  }

  *lanesOf(type: string): Generator<Lane> {
    for (const peers of this.#types.get(type)?.lanes.values() ?? []) yield* peers.values()
  }

  /**
   * The lanes that a claim considers: first those of preferred types, then by priority. A worker with a list of types
   * considers their lanes. A worker without one considers the lanes of its preferred types and then the pools.
   */
  *levels({ capabilities, accept_types, preferred_types }: Wanted): Generator<Level> {
    const has = capabilities.length === 0 ? NONE : new Set(capabilities)
    const accepted = accept_types === undefined ? undefined : new Set(accept_types)
    const preferred =
      preferred_types === undefined || preferred_types.length === 0
        ? NONE
        : new Set(preferred_types.filter((type) => accepted?.has(type) ?? true))
    if (preferred.size > 0) yield* this.#levelsOf(preferred, has, true)
    const others = accepted === undefined ? ANY : [...accepted].filter((type) => !preferred.has(type))
    yield* this.#levelsOf(others, has, false)
  }

  *#levelsOf(types: Iterable<string | null>, has: ReadonlySet<string>, preferred: boolean): Generator<Level> {
    const cursors: { readonly entry: CatalogEntry; next: number }[] = []
    for (const type of types) {
      const entry = this.#types.get(type)
      if (entry !== undefined) cursors.push({ entry, next: 0 })
    }
    for (;;) {
      let priority: number | undefined
      for (const { entry, next } of cursors) {
        const first = entry.priorities[next]
        if (first !== undefined && (priority === undefined || first > priority)) priority = first
      }
      if (priority === undefined) return
      const lanes: Lane[] = []
      for (const cursor of cursors) {
        if (cursor.entry.priorities[cursor.next] !== priority) continue
        cursor.next++
        for (const lane of cursor.entry.lanes.get(priority)?.values() ?? []) {
          if (servable(lane, has)) lanes.push(lane)
        }
      }
      if (lanes.length > 0) yield { preferred, priority, lanes }
    }
  }
}

/** The levels of both, in their common order. */
export function* joinLevels(one: Generator<Level>, other: Generator<Level>): Generator<Level> {
  let a = one.next()
  let b = other.next()
  for (;;) {
    if (a.done) return yield* rest(b, other)
    if (b.done) return yield* rest(a, one)
    const order = compare(a.value, b.value)
    yield order === 0
      ? { ...a.value, lanes: [...a.value.lanes, ...b.value.lanes] }
      : order < 0
        ? a.value
        : b.value
    if (order <= 0) a = one.next()
    if (order >= 0) b = other.next()
  }
}

function* rest(first: IteratorResult<Level>, others: Generator<Level>): Generator<Level> {
  if (first.done) return
  yield first.value
  yield* others
}

/** Negative if `a` comes first. */
function compare(a: Level, b: Level): number {
  if (a.preferred !== b.preferred) return a.preferred ? -1 : 1
  return b.priority - a.priority
}

/** The index of a priority in a list in descending order, or the index to insert it at. */
function place(priorities: readonly number[], priority: number): number {
  let low = 0
  let high = priorities.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((priorities[middle] ?? priority) > priority) low = middle + 1
    else high = middle
  }
  return low
}
