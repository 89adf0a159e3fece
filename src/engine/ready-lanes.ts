import { type Lane, servable, type Wanted } from '../core/matching.ts'

/** Lanes of equal standing for a claim: their tasks compete by rank alone. */
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

/** Lanes with ready tasks. A claim gets those that it can serve, best first, at no cost for the others. */
export class ReadyLanes {
  readonly #types = new Map<string | null, CatalogEntry>()

  add(lane: Lane): void {
    const shelf = this.#types.get(lane.type) ?? { priorities: [], lanes: new Map() }
    this.#types.set(lane.type, shelf)
    const peers = shelf.lanes.get(lane.priority)
    if (peers !== undefined) {
      peers.set(lane.lane, lane)
      return
    }
    shelf.lanes.set(lane.priority, new Map([[lane.lane, lane]]))
    shelf.priorities.splice(place(shelf.priorities, lane.priority), 0, lane.priority)
  }

  delete(lane: Lane): void {
    const shelf = this.#types.get(lane.type)
    const peers = shelf?.lanes.get(lane.priority)
    if (shelf === undefined || peers === undefined || !peers.delete(lane.lane) || peers.size > 0) return
    shelf.lanes.delete(lane.priority)
    shelf.priorities.splice(place(shelf.priorities, lane.priority), 1)
    if (shelf.priorities.length === 0) this.#types.delete(lane.type)
  }

  *lanesOf(type: string): Generator<Lane> {
    for (const peers of this.#types.get(type)?.lanes.values() ?? []) yield* peers.values()
  }

  /**
   * The lanes that a claim looks at: first those of preferred types, then by priority. A worker that names its types
   * looks at their lanes; one that takes any looks at the pools, and before them at the lanes of the types it prefers.
   */
  *levels({ capabilities, accept_types, preferred_types }: Wanted): Generator<Level> {
    const has = new Set(capabilities)
    const accepted = accept_types === undefined ? undefined : new Set(accept_types)
    const preferred = new Set(preferred_types?.filter((type) => accepted?.has(type) ?? true))
    if (preferred.size > 0) yield* this.#levelsOf(preferred, has, true)
    const others = accepted === undefined ? [null] : [...accepted].filter((type) => !preferred.has(type))
    yield* this.#levelsOf(others, has, false)
  }

  *#levelsOf(types: Iterable<string | null>, has: ReadonlySet<string>, preferred: boolean): Generator<Level> {
    const cursors: { readonly shelf: CatalogEntry; next: number }[] = []
    for (const type of types) {
      const shelf = this.#types.get(type)
      if (shelf !== undefined) cursors.push({ shelf, next: 0 })
    }
    for (;;) {
      let priority: number | undefined
      for (const { shelf, next } of cursors) {
        const first = shelf.priorities[next]
        if (first !== undefined && (priority === undefined || first > priority)) priority = first
      }
      if (priority === undefined) return
      const lanes: Lane[] = []
      for (const cursor of cursors) {
        if (cursor.shelf.priorities[cursor.next] !== priority) continue
        cursor.next++
        for (const lane of cursor.shelf.lanes.get(priority)?.values() ?? []) {
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

/** Negative if `a` goes first. */
function compare(a: Level, b: Level): number {
  if (a.preferred !== b.preferred) return a.preferred ? -1 : 1
  return b.priority - a.priority
}

/** Where a priority stands, or would stand, among those in descending order. */
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
