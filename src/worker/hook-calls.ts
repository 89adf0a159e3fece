import type { Failure } from './errors.ts'
import type { HookEvent, Hooks } from './hooks.ts'
import type { HeldLease } from './lease.ts'
import type { TaskContext } from './task.ts'

/** The part of an outcome that hooks are about. */
type Ended =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'completed' | 'released' | 'asked' }

/** Calls the hooks of the task, then those of the worker. */
export class HookCalls {
  readonly #lease: HeldLease
  readonly #ctx: TaskContext
  readonly #all: readonly Hooks[]

  constructor(lease: HeldLease, ctx: TaskContext, ofWorker: Hooks | undefined) {
    this.#lease = lease
    this.#ctx = ctx
    this.#all = [lease.definition.hooks, ofWorker].filter((hooks) => hooks !== undefined)
  }

  started(): Promise<void> {
    return this.#call('onStart', (hooks) => hooks.onStart?.(this.#event()))
  }

  async succeeded(result: unknown): Promise<void> {
    if (this.#lease.lost !== undefined) return
    await this.#call('onSuccess', (hooks) => hooks.onSuccess?.({ ...this.#event(), result }))
  }

  async ended(outcome: Ended): Promise<void> {
    const { lost } = this.#lease
    if (lost === 'canceled') {
      await this.#call('onCancel', (hooks) => hooks.onCancel?.(this.#event()))
    } else if (lost === undefined && outcome.kind === 'failed') {
      // With a lost lease, another worker may have the task, and reports its outcome.
      const { error } = outcome.failure
      const willRetry = mayRetry(this.#lease, outcome.failure)
      await this.#call('onFailure', (hooks) => hooks.onFailure?.({ ...this.#event(), error, willRetry }))
    }
  }

  async #call(name: keyof Hooks, call: (hooks: Hooks) => unknown): Promise<void> {
    for (const hooks of this.#all) {
      try {
        await call(hooks)
      } catch (error) {
        this.#ctx.log.error(`the hook ${name} failed`, { error })
      }
    }
  }

  #event(): HookEvent {
    const { task, attempt, log, idempotencyKey } = this.#ctx
    return { task, attempt, log, idempotencyKey }
  }
}

/** The decision of the server, from what the offer says about the task. */
function mayRetry({ offer }: HeldLease, { retryable, retry_after_seconds = 0 }: Failure): boolean {
  if (!retryable || offer.attempt + 1 >= offer.max_attempts) return false
  return offer.deadline_at === null || Date.now() + retry_after_seconds * 1000 < Date.parse(offer.deadline_at)
}
