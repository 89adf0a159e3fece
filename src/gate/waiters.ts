import { type Lane, servable, type Wanted } from '../core/matching.ts'

/** Why a waiting claim tries again: work came for it, or it is time to look. */
export type Wakeup = 'ready' | 'look' | 'timeout'

/** A claim that waits for work. It is known before it claims, so that no work can slip in between. */
export class Waiter {
  readonly tenant: number
  readonly wanted: Wanted
  /** Waiters with the same profile could take the same tasks. */
  readonly profile: string
  #wakeup: Wakeup | undefined
  #resolve: ((wakeup: Wakeup) => void) | undefined

  constructor(tenant: number, wanted: Wanted) {
    this.tenant = tenant
    this.wanted = wanted
    this.profile = JSON.stringify([wanted.accept_types ?? null, wanted.capabilities])
  }

  get isAwake(): boolean {
    return this.#wakeup !== undefined
  }

  wake(wakeup: Wakeup): void {
    this.#wakeup ??= wakeup
    this.#resolve?.(this.#wakeup)
  }

  /** Resolves at the next wakeup, or at once if there was one since the last. */
  async sleep(): Promise<Wakeup> {
    const wakeup = this.#wakeup ?? (await new Promise<Wakeup>((resolve) => (this.#resolve = resolve)))
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

  remove(waiter: Waiter): void {
    const waiters = this.#tenants.get(waiter.tenant)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#tenants.delete(waiter.tenant)
  }

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  tenants(): number[] {
    return [...this.#tenants.keys()]
  }

  /** As many tasks became ready in a lane: as many waiters that could take them are woken, not all. */
  ready(lane: Lane, count: number): void {
    let left = count
    for (const waiter of this.#tenants.get(lane.tenant) ?? []) {
      if (left === 0) return
      if (waiter.isAwake || !takes(waiter.wanted, lane)) continue
      waiter.wake('ready')
      left--
    }
  }

  /** One waiter of each profile looks; if it finds something it sends the next one of its profile. */
  look(tenant: number): void {
    const seen = new Set<string>()
    for (const waiter of this.#tenants.get(tenant) ?? []) {
      if (seen.has(waiter.profile)) continue
      seen.add(waiter.profile)
      waiter.wake('look')
    }
  }

  /** The next waiter like this one looks too. */
  sendNext(like: Waiter): void {
    for (const waiter of this.#tenants.get(like.tenant) ?? []) {
      if (waiter === like || waiter.isAwake || waiter.profile !== like.profile) continue
      waiter.wake('look')
      return
    }
  }

  /** Everybody stops waiting. */
  release(): void {
    for (const waiters of this.#tenants.values()) for (const waiter of waiters) waiter.wake('timeout')
  }
}

function takes(wanted: Wanted, lane: Lane): boolean {
  if (!servable(lane, wanted)) return false
  return wanted.accept_types === undefined || (lane.type !== null && wanted.accept_types.includes(lane.type))
}
