import { ROUTES } from '../client/operations.ts'
import type { Caller } from '../core/principal.ts'
import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { TaskEvent } from '../engine/events.ts'
import type { Gate } from '../features/gate.ts'

interface OpenTask {
  readonly type: string
  readonly status: Status
  /** When the delay or backoff ends; null if the task can be claimed. */
  readonly eligible_at: number | null
}

/** The tasks of a gate that have not ended, according to its commits. */
export class OpenTasks {
  readonly #gate: Gate
  readonly #caller: Caller
  readonly #open = new Map<string, OpenTask>()
  /** The capabilities that each task requires, which never change. */
  readonly #needs = new Map<string, readonly string[]>()
  readonly #listeners = new Set<() => void>()
  /** Number of changes so far. */
  changes = 0

  constructor(gate: Gate, caller: Caller) {
    this.#gate = gate
    this.#caller = caller
    gate.onTask((event) => this.#changed(event))
  }

  /** Resolves when `condition` holds. It is checked now and after every change. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (;;) {
      // Subscribed before the check, so that no change is missed in between.
      const changed = this.#change()
      if (await condition()) return changed.cancel()
      await changed.promise
    }
  }

  /** Makes every `until` check its condition again. */
  recheck(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Whether a task of these types is running, or a worker with these capabilities could claim one. */
  async isBusy(types: ReadonlySet<string>, capabilities: readonly string[], now: number): Promise<boolean> {
    for (const [id, { type, status, eligible_at }] of this.#open) {
      if (!types.has(type) || isParked(status)) continue
      if (status !== 'queued') return true
      const isReady = eligible_at === null || eligible_at <= now
      if (isReady && (await this.#needsOf(id)).every((need) => capabilities.includes(need))) return true
    }
    return false
  }

  /** When the next delay, lease, timeout or question ends; undefined if there is none. */
  async nextTime(after: number): Promise<number | undefined> {
    const times: number[] = []
    for (const [task_id, { status, eligible_at }] of this.#open) {
      if (status === 'queued') {
        if (eligible_at !== null) times.push(eligible_at)
        continue
      }
      const { lease, question } = await this.#gate.getTask(this.#caller, { task_id })
      const ends = lease?.expires_at ?? question?.expires_at ?? null
      if (ends !== null) times.push(Date.parse(ends))
    }
    const next = Math.min(...times.filter((time) => time > after))
    return Number.isFinite(next) ? next : undefined
  }

  #changed({ task_id, type, status, wake_at }: TaskEvent): void {
    if (isTerminal(status)) {
      this.#open.delete(task_id)
      this.#needs.delete(task_id)
    } else {
      this.#open.set(task_id, { type, status, eligible_at: wake_at })
    }
    this.changes += 1
    this.recheck()
  }

  #change(): { promise: Promise<void>; cancel(): void } {
    let cancel = () => {}
    const promise = new Promise<void>((resolve) => {
      const listener = () => {
        this.#listeners.delete(listener)
        resolve()
      }
      this.#listeners.add(listener)
      cancel = listener
    })
    return { promise, cancel }
  }

  async #needsOf(task_id: string): Promise<readonly string[]> {
    const known = this.#needs.get(task_id)
    if (known !== undefined) return known
    const { requirements } = await this.#gate.getTask(this.#caller, { task_id })
    this.#needs.set(task_id, requirements.capabilities)
    return requirements.capabilities
  }
}

/**
 * The fetch function of a worker whose claims can be ended at any time. Aborting a long poll on the server could lose
 * a lease that was just granted, so every request returns immediately and the waiting is done here.
 */
export class Claims {
  readonly #open: OpenTasks
  #isOver = false

  constructor(open: OpenTasks) {
    this.#open = open
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const isClaim = String(input).endsWith(ROUTES.leaseNext.path)
    return isClaim && typeof init?.body === 'string'
      ? this.#claim(input, init, init.body)
      : fetch(input, init)
  }

  /** Waiting claims return without a task. */
  end(): void {
    this.#isOver = true
    this.#open.recheck()
  }

  async #claim(input: string | URL | Request, init: RequestInit, body: string): Promise<Response> {
    const asked = { ...init, body: JSON.stringify({ ...JSON.parse(body), wait_seconds: 0 }) }
    for (;;) {
      const { changes } = this.#open
      const response = await fetch(input, asked)
      const text = await response.text()
      const isEmpty = response.ok && JSON.parse(text).tasks?.length === 0
      if (this.#isOver || !isEmpty) return new Response(text, response)
      await this.#open.until(() => this.#isOver || this.#open.changes !== changes)
    }
  }
}
