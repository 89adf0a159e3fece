/** What tasks of a lane have in common. A lane without a type is a pool: it serves workers that take any type. */
export interface Lane {
  readonly tenant: number
  readonly lane: number
  readonly type: string | null
  /** Sorted, without repeats; compared to the letter. */
  readonly capabilities: readonly string[]
  readonly priority: number
}

export interface Wanted {
  readonly capabilities: readonly string[]
  /** Absent: any type. */
  readonly accept_types?: readonly string[] | undefined
  /** Taken first; never a filter. */
  readonly preferred_types?: readonly string[] | undefined
}

export const MAX_LANES = 20_000
export const MAX_POOLS = 1_000

export function normalCapabilities(capabilities: readonly string[]): string[] {
  return [...new Set(capabilities)].sort()
}

export function laneName(type: string | null, capabilities: readonly string[], priority: number): string {
  return JSON.stringify([type, priority, ...capabilities])
}

/** Every capability that the lane's tasks need is one that the worker has. */
export function servable(lane: Lane, wanted: Wanted): boolean {
  return lane.capabilities.every((capability) => wanted.capabilities.includes(capability))
}

/**
 * Which lanes a claim looks at. A worker that names its types looks at their lanes; one that takes any looks at
 * the few pools, and at the lanes of the types it prefers.
 */
export function looksAt(lane: Lane, wanted: Wanted): boolean {
  if (!servable(lane, wanted)) return false
  if (lane.type === null) return wanted.accept_types === undefined
  if (wanted.accept_types !== undefined) return wanted.accept_types.includes(lane.type)
  return wanted.preferred_types?.includes(lane.type) ?? false
}
