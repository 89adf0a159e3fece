import { createHash } from 'node:crypto'

/**
 * The seats that sessions take, from 1 on. Calls of a session wait at its seat, also when the session is gone, so seats
 * are used again: there are never more lanes than seats.
 */
export class Seats {
  readonly #count: number
  readonly #taken = new Set<number>()

  constructor(count: number) {
    this.#count = count
  }

  get taken(): ReadonlySet<number> {
    return this.#taken
  }

  /**
   * The same for the same session wherever that is possible, so that it finds what it has left; one that nobody else
   * has, if there is any. Undefined if all are taken.
   */
  take(sessionId: string, isElsewhere: (seat: number) => boolean): number | undefined {
    const first = createHash('sha256').update(sessionId).digest().readUInt32BE(0) % this.#count
    const inTurn = Array.from({ length: this.#count }, (_, i) => ((first + i) % this.#count) + 1)
    const free = inTurn.filter((seat) => !this.#taken.has(seat))
    const seat = free.find((each) => !isElsewhere(each)) ?? free[0]
    if (seat !== undefined) this.#taken.add(seat)
    return seat
  }

  leave(seat: number): void {
    this.#taken.delete(seat)
  }
}
