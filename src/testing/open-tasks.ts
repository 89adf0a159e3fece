import type { Caller } from '../core/principal.ts'
import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { TaskEvent } from '../engine/events.ts'
import type { Gate } from '../features/gate.ts'

interface OpenTask {
  readonly type: string
  readonly status: Status
  /** When its delay or backoff ends; null if it can be claimed. */
  readonly eligible_at: number | null
}

/** The tasks of a gate that have not ended, as its commits tell of them. */
export class OpenTasks {
  readonly #gate: Gate
  readonly #caller: Caller
  readonly #open = new Map<string, OpenTask>()
  /** What each task asks of a worker never changes. */
  readonly #needs = new Map<string, readonly string[]>()
  readonly #listeners = new Set<() => void>()
  /** How many changes there have been. */
  changes = 0

  constructor(gate: Gate, caller: Caller) {
    this.#gate = gate
    this.#caller = caller
    gate.onTask((event) => this.#heard(event))
  }

  /** Resolves as soon as something has changed and `isSo` says yes; also at once. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (;;) {
      // Listened to before the look, so that no change falls in between.
      const changed = this.#change()
      if (await isSo()) return changed.cancel()
      await changed.promise
    }
  }

  /** Makes everybody who waits look again. */
  recheck(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Whether one of these types is being worked at, or could be by a worker with these capabilities. */
  async isBusy(types: ReadonlySet<string>, capabilities: readonly string[], now: number): Promise<boolean> {
    for (const [id, { type, status, eligible_at }] of this.#open) {
      if (!types.has(type) || isParked(status)) continue
      if (status !== 'queued') return true
      const isReady = eligible_at === null || eligible_at <= now
      if (isReady && (await this.#needsOf(id)).every((need) => capabilities.includes(need))) return true
    }
    return false
  }

  /** When the next delay, lease, timeout or question ends; undefined if none will. */
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

  #heard({ task_id, type, status, wake_at }: TaskEvent): void {
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
