interface Guest {
  /** There may be a place now. */
  fill(): void
}

/** Calls that may be made at once, of all sessions together. Whoever finds no place is told when there is one, in turn. */
export class Places {
  readonly #count: number
  readonly #waiting = new Set<Guest>()
  #taken = 0

  constructor(count: number) {
    this.#count = count
  }

  get taken(): number {
    return this.#taken
  }

  take(guest: Guest): boolean {
    if (this.#taken >= this.#count) {
      this.#waiting.add(guest)
      return false
    }
    this.#taken += 1
    return true
  }

  leave(): void {
    this.#taken -= 1
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    next.fill()
    // It may have had no use for the place.
    if (this.#taken < this.#count) this.#rest()
  }

  forget(guest: Guest): void {
    this.#waiting.delete(guest)
  }

  #rest(): void {
    for (const guest of [...this.#waiting]) {
      if (this.#taken >= this.#count) return
      this.#waiting.delete(guest)
      guest.fill()
    }
  }
}
