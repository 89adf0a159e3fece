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
