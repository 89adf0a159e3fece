import type { Answers, AnswerTo, Claim, Command, Granted, Reclaim } from '../core/command.ts'
import type { AnyAnswer } from '../core/decide/index.ts'
import { Fault } from '../core/errors.ts'
import type { Question } from '../core/question.ts'
import type { TaskSpec } from '../core/task.ts'
import { type Committed, NO_NEED, type Store, StoreError } from '../store/store.ts'
import type { Batch, Outcome, QuestionLookup, SpecLookup } from './batch.ts'
import { BatchSize } from './batch-size.ts'
import type { TaskEvent } from './events.ts'
import { Pending } from './pending.ts'

export type Handout = Granted & { readonly spec: TaskSpec; readonly questions: readonly Question[] }

/** The answer to a claim contains the specs of the tasks, which the commit loads. */
export type QueueAnswer<C extends Command> = C extends Claim | Reclaim
  ? { readonly granted: readonly Handout[]; readonly now: number }
  : AnswerTo<C>

export type AnyQueueAnswer = AnyAnswer | QueueAnswer<Claim>

interface Entry {
  readonly command: Command
  resolve(answer: AnyQueueAnswer): void
  reject(fault: Fault): void
}

interface Hooks {
  readonly store: Store
  readonly limits: { readonly commands: number; readonly bytes: number }
  /** Called for each command that waits for a commit. Commands that are submitted meanwhile can be in the same batch. */
  accepted(command: Command): void
  /** Whether other processes have written to the tenant recently. */
  isContended(tenant: number): boolean
  /** With `wakes`, a batch with claims also wakes due tasks. */
  batch(commands: readonly Command[], wakes: boolean): Batch
  committed(batch: Batch, events: readonly TaskEvent[], ms: number): void
  /** Called for each refused command, before its caller gets the error. */
  refused(command: Command, fault: Fault): void
  report(error: unknown): void
}

/**
 * Group commit. Commands that arrive while a batch is being committed go into the next batch. No command waits for a
 * timer: an idle queue commits immediately. At most one batch is in flight, because a second one would only wait for the
 * locks of the first.
 */
export class CommitQueue {
  readonly #hooks: Hooks
  readonly #pending: Pending<Entry>
  readonly #size: BatchSize
  #busy = false
  #idle: (() => void)[] = []

  constructor(hooks: Hooks) {
    this.#hooks = hooks
    this.#pending = new Pending(hooks.limits)
    this.#size = new BatchSize(hooks.store.batchSize)
  }

  submit<C extends Command>(command: C): Promise<QueueAnswer<C>> {
    if (this.#pending.isFull) {
      return Promise.reject(new Fault('OVERLOADED', { waiting_commands: this.#pending.length }))
    }
    return new Promise<QueueAnswer<C>>((resolve, reject) => {
      // Each command is answered by the decision of its own verb, so the answer has this type.
      this.#pending.add({ command, resolve: (answer) => resolve(answer as QueueAnswer<C>), reject })
      this.#schedule()
      this.#hooks.accepted(command)
    })
  }

  /** Resolves when nothing is waiting or in flight. */
  async drained(): Promise<void> {
    if (!this.#busy) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#busy) return
    this.#busy = true
    // Callers that get an answer in this turn of the event loop can add their next command to the same batch.
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    const locked = this.#contended()
    let entries: readonly Entry[] | undefined
    const take = () => (entries ??= this.#pending.take(this.#size.current, locked))
    try {
      await this.#commit(take, locked)
    } catch (error) {
      // This is a bug. Its callers must get an error, and later commands must still run.
      this.#hooks.report(error)
      for (const entry of take()) entry.reject(new Fault('INTERNAL_ERROR'))
    }
    this.#busy = false
    if (this.#pending.length > 0) this.#schedule()
    else for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** The tenants of the next commands, if other processes write to one of them. */
  #contended(): readonly number[] | undefined {
    if (!this.#hooks.store.shared) return undefined
    const tenants = this.#pending.tenants()
    return tenants.some((tenant) => this.#hooks.isContended(tenant)) ? tenants : undefined
  }

  /**
   * With `locked`, the commands are taken when these tenants are locked. Where other processes write too, a lock takes
   * a while, and the commands that arrive meanwhile would otherwise need it a second time.
   */
  async #commit(take: () => readonly Entry[], locked?: readonly number[], wakes = true): Promise<void> {
    let taken: Batch | undefined
    const batchOf = () => {
      taken ??= this.#hooks.batch(
        take().map((entry) => entry.command),
        wakes,
      )
      return taken
    }
    const first = locked === undefined ? batchOf().need : { ...NO_NEED, tenants: locked }
    const started = performance.now()
    let committed: Committed
    try {
      committed = await this.#hooks.store.commit(first, (loaded) =>
        locked !== undefined && loaded.looks === 1 ? batchOf().need : batchOf().decide(loaded),
      )
    } catch (error) {
      return this.#failed(take(), error, batchOf().need.due.length > 0)
    }
    const entries = take()
    const batch = batchOf()
    const ms = performance.now() - started
    this.#size.measured(entries.length, ms)
    const spec = batch.specs(committed)
    const questions = batch.questions(committed)
    const events = batch.committed(spec)
    const again: Entry[] = []
    entries.forEach((entry, i) => {
      const outcome = batch.outcomes[i] ?? new Fault('INTERNAL_ERROR')
      if (outcome === 'again') again.push(entry)
      else this.#settle(entry, outcome, spec, questions)
    })
    this.#pending.putBack(again)
    this.#hooks.committed(batch, events, ms)
  }

  #settle(
    entry: Entry,
    outcome: Exclude<Outcome, 'again'>,
    specOf: SpecLookup,
    questionsOf: QuestionLookup,
  ): void {
    if (outcome instanceof Fault) {
      this.#hooks.refused(entry.command, outcome)
      entry.reject(outcome)
    } else if ('granted' in outcome) this.#handOut(entry, outcome, specOf, questionsOf)
    else entry.resolve(outcome)
  }

  #handOut(entry: Entry, answer: Answers['claim'], specOf: SpecLookup, questionsOf: QuestionLookup): void {
    const granted: Handout[] = []
    for (const grant of answer.granted) {
      const spec = specOf(grant.task.tenant, grant.task.seq)
      if (spec === undefined) continue
      const { task, lease, fence } = grant
      granted.push({ task, lease, fence, spec, questions: questionsOf(task) })
    }
    if (granted.length === answer.granted.length) entry.resolve({ granted, now: answer.now })
    else entry.reject(new Fault('INTERNAL_ERROR'))
  }

  /**
   * A command that the database refuses must not fail the others: the batch is halved until the command is alone. A wake
   * in a batch with claims must not fail the claims either.
   */
  async #failed(entries: readonly Entry[], error: unknown, woke: boolean): Promise<void> {
    const reason = error instanceof StoreError ? error.reason : 'refused'
    if (reason === 'refused' && entries.length > 1) {
      const middle = entries.length >> 1
      await this.#commit(() => entries.slice(0, middle))
      return this.#commit(() => entries.slice(middle))
    }
    this.#hooks.report(error)
    if (reason === 'refused' && woke) return this.#commit(() => entries, undefined, false)
    const fault = new Fault(FAULTS[reason])
    for (const entry of entries) entry.reject(fault)
  }
}

const FAULTS = {
  unavailable: 'DATABASE_UNAVAILABLE',
  unknown: 'OUTCOME_UNKNOWN',
  refused: 'INTERNAL_ERROR',
} as const
