import { type Lane, servable, sortedSet, type Wanted } from '../core/matching.ts'

/** Why a waiting claim tries again: work came for it, or it is time to look. */
export type Wakeup = 'ready' | 'look' | 'timeout'

/** A claim that waits for work. It is known before it claims, so that no work can slip in between. */
export class Waiter {
  readonly tenant: number
  readonly #types: ReadonlySet<string> | undefined
  readonly #capabilities: ReadonlySet<string>
  /** Waiters with the same profile could take the same tasks. */
  readonly profile: string
  /** The lane whose work it was woken for, until it has looked. */
  called: Lane | undefined
  #wakeup: Wakeup | undefined
  #resolve: (() => void) | undefined

  constructor(tenant: number, wanted: Wanted) {
    this.tenant = tenant
    const { accept_types, capabilities } = wanted
    this.#types = accept_types && new Set(accept_types)
    this.#capabilities = new Set(capabilities)
    this.profile = JSON.stringify([accept_types ? sortedSet(accept_types) : null, sortedSet(capabilities)])
  }

  takes(lane: Lane): boolean {
    if (!servable(lane, this.#capabilities)) return false
    return this.#types === undefined || (lane.type !== null && this.#types.has(lane.type))
  }

  get isAwake(): boolean {
    return this.#wakeup !== undefined
  }

  /** Whether it waits, rather than claims at this moment. */
  get isAsleep(): boolean {
    return this.#resolve !== undefined && !this.isAwake
  }

  /** The first reason counts, but nothing outdoes the end of the wait. */
  wake(wakeup: Wakeup): void {
    if (this.#wakeup === undefined || wakeup === 'timeout') this.#wakeup = wakeup
    this.#resolve?.()
  }

  /** Resolves at the next wakeup, or at once if there was one since the last. */
  async sleep(): Promise<Wakeup> {
    if (this.#wakeup === undefined) await new Promise<void>((resolve) => (this.#resolve = resolve))
    const wakeup = this.#wakeup ?? 'look'
    this.#wakeup = undefined
    this.#resolve = undefined
    return wakeup
  }
}

/** The waiting claims of this process, in the order in which they came. */
export class Waiters {
  #tenants = new Map<number, Set<Waiter>>()

  add(waiter: Waiter): void {
    const waiters = this.#tenants.get(waiter.tenant)
    if (waiters === undefined) this.#tenants.set(waiter.tenant, new Set([waiter]))
    else waiters.add(waiter)
  }

  /** It stops waiting, with tasks of these lanes. Work that it was called for and leaves behind is another's. */
  remove(waiter: Waiter, taken: readonly number[]): void {
    const waiters = this.#tenants.get(waiter.tenant)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#tenants.delete(waiter.tenant)
    if (waiter.called !== undefined && !taken.includes(waiter.called.lane)) this.ready(waiter.called, 1)
  }

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  get count(): number {
    return [...this.#tenants.values()].reduce((sum, waiters) => sum + waiters.size, 0)
  }

  has(tenant: number): boolean {
    return this.#tenants.has(tenant)
  }

  tenants(): number[] {
    return [...this.#tenants.keys()]
  }

  /** As many tasks became ready in a lane: as many waiters that could take them are woken, not all. */
  ready(lane: Lane, count: number): void {
    this.#wake(lane.tenant, 'ready', count, (waiter) => waiter.takes(lane), lane)
  }

  /** One waiter of each profile looks; if it finds something it sends the next one of its profile. */
  look(tenant: number, fits: (waiter: Waiter) => boolean = () => true): void {
    const seen = new Set<string>()
    for (const waiter of this.#tenants.get(tenant) ?? []) {
      if (seen.has(waiter.profile) || !fits(waiter)) continue
      if (waiter.isAsleep) seen.add(waiter.profile)
      waiter.wake('look')
    }
  }

  /** Of each profile that could take tasks of the lane, one waiter looks. */
  lookInto(lane: Lane): void {
    this.look(lane.tenant, (waiter) => waiter.takes(lane))
  }

  /** The next waiter like this one looks too. */
  sendNext(like: Waiter): void {
    this.#wake(like.tenant, 'look', 1, (waiter) => waiter !== like && waiter.profile === like.profile)
  }

  /** Everybody stops waiting. */
  release(): void {
    for (const waiters of this.#tenants.values()) for (const waiter of waiters) waiter.wake('timeout')
  }

  /** One that claims at this moment may come back with other work, so it is told too but not counted. */
  #wake(tenant: number, wakeup: Wakeup, count: number, fits: (waiter: Waiter) => boolean, lane?: Lane): void {
    let left = count
    for (const waiter of this.#tenants.get(tenant) ?? []) {
      if (left === 0) return
      if (waiter.isAwake || !fits(waiter)) continue
      if (waiter.isAsleep) {
        waiter.called = lane
        left--
      }
      waiter.wake(wakeup)
    }
  }
}
