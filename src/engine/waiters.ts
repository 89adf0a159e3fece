import { type Lane, servable, sortedSet, type Wanted } from '../core/matching.ts'

/** Why a waiting claim tries again: tasks became ready, or the poll interval has passed. */
export type Wakeup = 'ready' | 'look' | 'timeout'

/** A claim that waits for tasks. It is registered before it claims, so that no task is missed in between. */
export class Waiter {
  readonly tenant: number
  readonly #types: ReadonlySet<string> | undefined
  readonly #capabilities: ReadonlySet<string>
  /** Waiters with the same profile could take the same tasks. */
  readonly profile: string
  /** The lane that it was woken for, until it has claimed. */
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

  /** Whether it waits; false while it claims. */
  get isAsleep(): boolean {
    return this.#resolve !== undefined && !this.isAwake
  }

  /** The first reason counts, except that the end of the wait overrides all. */
  wake(wakeup: Wakeup): void {
    if (this.#wakeup === undefined || wakeup === 'timeout') this.#wakeup = wakeup
    this.#resolve?.()
  }

  /** Resolves at the next wakeup, or immediately if there was one since the last call. */
  async sleep(): Promise<Wakeup> {
    if (this.#wakeup === undefined) await new Promise<void>((resolve) => (this.#resolve = resolve))
    const wakeup = this.#wakeup ?? 'look'
    this.#wakeup = undefined
    this.#resolve = undefined
    return wakeup
  }
}

/** The waiting claims of this process, in order of arrival. */
export class Waiters {
  #tenants = new Map<number, Set<Waiter>>()

  add(waiter: Waiter): void {
    const waiters = this.#tenants.get(waiter.tenant)
    if (waiters === undefined) this.#tenants.set(waiter.tenant, new Set([waiter]))
    else waiters.add(waiter)
  }

  /** Removes a waiter that got tasks of these lanes. If it was woken for another lane, another waiter is woken instead. */
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

  /** Wakes as many matching waiters as tasks became ready in a lane. */
  ready(lane: Lane, count: number): void {
    this.#wake(lane.tenant, 'ready', count, (waiter) => waiter.takes(lane), lane)
  }

  /** Wakes one waiter of each profile. If it gets a task, it wakes the next one of its profile. */
  look(tenant: number, fits: (waiter: Waiter) => boolean = () => true): void {
    const seen = new Set<string>()
    for (const waiter of this.#tenants.get(tenant) ?? []) {
      if (seen.has(waiter.profile) || !fits(waiter)) continue
      if (waiter.isAsleep) seen.add(waiter.profile)
      waiter.wake('look')
    }
  }

  /** Wakes one waiter of each profile that matches the lane. */
  lookInto(lane: Lane): void {
    this.look(lane.tenant, (waiter) => waiter.takes(lane))
  }

  /** Wakes the next waiter of the same profile. */
  sendNext(like: Waiter): void {
    this.#wake(like.tenant, 'look', 1, (waiter) => waiter !== like && waiter.profile === like.profile)
  }

  /** Ends all waits. */
  release(): void {
    for (const waiters of this.#tenants.values()) for (const waiter of waiters) waiter.wake('timeout')
  }

  /** A waiter that is claiming may return with other tasks, so it is woken too but not counted. */
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
