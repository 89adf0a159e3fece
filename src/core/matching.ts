import type { PrincipalKey } from './principal.ts'

/** What tasks of a lane have in common. A lane without a type is a pool: it serves workers that take any type. */
export interface Lane {
  readonly tenant: number
  readonly lane: number
  readonly type: string | null
  /** Sorted, without repeats; compared to the letter. */
  readonly capabilities: readonly string[]
  readonly priority: number
  /** What is limited, as `limitedName` gives it; null for tasks without a limit. */
  readonly limited: string | null
  /** What the rate of starting leases applies to, as `limitedName` gives it; null for tasks without a rate. */
  readonly rated: string | null
}

/** A lane and its state. */
export interface LaneRow extends Lane {
  /** No ready task of the lane has a lower rank; null: none is ready. */
  readonly mark: number | null
  /** Its open tasks, ready or not. The number of a lane without any may be given to another lane. */
  readonly tasks: number
  /** Whose limit the lane counts towards: an owner with open tasks in it. Null for pools, which count towards no limit. */
  readonly owner: PrincipalKey | null
  /** How many tasks must leave until it no longer counts towards that owner's limit. */
  readonly owned: number
  /** How many tasks of all lanes with this `limited` may be leased at once; null without a limit. */
  readonly max_held: number | null
  /** The leased tasks of a lane with a limit; 0 in other lanes and in pools. */
  readonly held: number
  /** The rate and what started in its window; null without a rate and in pools. */
  readonly rate: LaneRate | null
  /** The `lanes_version` of the tenant when the lane last changed. */
  readonly version: number
}

/** How many leases may start in a window, and how many of this lane did. */
export interface LaneRate {
  readonly limit: number
  readonly seconds: number
  /** When the window began; 0 if no lease of the lane has started. */
  readonly at: number
  readonly started: number
}

export interface Wanted {
  readonly capabilities: readonly string[]
  /** Absent: any type. */
  readonly accept_types?: readonly string[] | undefined
  /** Taken first; never a filter. */
  readonly preferred_types?: readonly string[] | undefined
}

/** Lanes that the open tasks of one owner may occupy. */
export const MAX_LANES_PER_OWNER = 1_000

/** Number of empty lanes of a tenant that are not deleted, because similar tasks tend to follow. */
export const LANES_KEPT = 1_000

/** The same for the same set, in whatever order and however often its members are named. */
export function sortedSet(names: readonly string[]): string[] {
  if (names.length < 2) return [...names]
  return [...new Set(names)].sort()
}

/** A limit of the tasks that may be leased at once. */
export interface ConcurrencyLimit {
  /** Tasks with the same text share the limit. */
  readonly limited: string
  readonly max_held: number
}

/** A limit of the leases that start in a window. */
export interface RateLimit {
  /** Tasks with the same text share the rate. */
  readonly rated: string
  readonly limit: number
  readonly seconds: number
}

/** Tasks of a type share a limit, or those with the same value of their key do. */
export function limitedName(type: string, key: string | null): string {
  return JSON.stringify([type, key])
}

export function laneName(
  type: string | null,
  capabilities: readonly string[],
  priority: number,
  limited: string | null = null,
  rated: string | null = null,
): string {
  if (limited === null && rated === null) return JSON.stringify([type, priority, ...capabilities])
  const limits = rated === null ? { limited } : { limited, rated }
  return JSON.stringify([type, priority, limits, ...capabilities])
}

/** Every capability that the lane's tasks need is one that the worker has. */
export function servable(lane: Lane, has: ReadonlySet<string>): boolean {
  return lane.capabilities.every((capability) => has.has(capability))
}

/** One turn of an owner with weight 1. Ranks are whole numbers so that they compare alike in every store. */
export const TURN = 1000

export interface Owner {
  readonly tenant: number
  readonly owner: string
  readonly last_rank: number
  readonly weight: number
}

/** Under strict FIFO all tasks belong to one queue. */
export const EVERYONE = '*'

/**
 * Start-time fair queueing: an owner's tasks stand one turn apart, beginning at the turn that is being served, so
 * that a thousand tasks of one owner never stand in front of another's first.
 */
export function nextRank(clock: number, owner: Owner): number {
  return Math.max(clock, owner.last_rank) + Math.max(1, Math.round(TURN / owner.weight))
}
