import type { Calls, Failure } from './calls.ts'
import { now } from './clock.ts'
import { openContext, type TaskContext } from './context.ts'
import { Parked, Permanent } from './errors.ts'
import { failureOf, misfit } from './failure.ts'
import type { HeldLease } from './lease.ts'
import type { Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Question } from './questions.ts'
import { type Result, type ResultStore, resultOf } from './results.ts'
import { check } from './schema.ts'

/** What the server is to be told about the end of a task. */
export type Outcome =
  | ({ readonly kind: 'completed' } & Result)
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'released' }
  | { readonly kind: 'asked'; readonly question: Question }

/** Runs handlers, and says what came of them. */
export class Runner {
  readonly #leases: Leases
  readonly #calls: Calls
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #results: ResultStore | undefined
  readonly #sendsLogs: boolean

  constructor(
    leases: Leases,
    calls: Calls,
    log: WorkerLog,
    metrics: Metrics,
    results: ResultStore | undefined,
    sendsLogs: boolean,
  ) {
    this.#leases = leases
    this.#calls = calls
    this.#log = log
    this.#metrics = metrics
    this.#results = results
    this.#sendsLogs = sendsLogs
  }

  async run(lease: HeldLease): Promise<Outcome> {
    const { definition, offer } = lease
    const context = openContext(lease, this.#leases, this.#calls, this.#log, this.#sendsLogs)
    try {
      const input = await check(definition.input, offer.payload)
      if ('problems' in input) return this.#refuse(lease, misfit('INPUT', input.problems))
      // Before it begins: a handler that keeps the event loop busy also keeps its lease from being renewed.
      if (lease.isShort) await this.#leases.extend(lease, (definition.leaseSeconds ?? 0) * 1000)
      const given = await this.#handle(lease, input.value, context.ctx)
      if (context.question !== undefined) return this.#wentOn(lease, context.question)
      const output = await check(definition.output, given)
      if ('problems' in output) return this.#refuse(lease, misfit('OUTPUT', output.problems))
      const stored = await resultOf(offer.task_id, output.value, definition.channel, this.#results)
      return { kind: 'completed', result: stored.result, artifacts: stored.artifacts, bytes: stored.bytes }
    } catch (error) {
      const { question } = context
      if (question === undefined) return this.#thrown(lease, error)
      return error instanceof Parked ? { kind: 'asked', question } : this.#wentOn(lease, question)
    } finally {
      await context.close()
    }
  }

  async #handle({ definition, offer }: HeldLease, input: unknown, ctx: TaskContext): Promise<unknown> {
    const startedAt = now()
    try {
      return await definition.run(input, ctx)
    } finally {
      this.#metrics.ran(offer.type, now() - startedAt)
    }
  }

  #refuse(lease: HeldLease, failure: Failure): Outcome {
    this.#log.of(lease).warn(failure.error, 'the task does not fit its schema')
    return { kind: 'failed', failure }
  }

  /** The question stands, or nobody would ever answer it. */
  #wentOn(lease: HeldLease, question: Question): Outcome {
    const text =
      'the handler went on after it had asked: what it gave is dropped, and it is run anew with the answer'
    this.#log.of(lease).warn({ kind: question.kind }, text)
    return { kind: 'asked', question }
  }

  #thrown(lease: HeldLease, error: unknown): Outcome {
    if (lease.aborted !== undefined && !(error instanceof Permanent)) {
      // Of a lease that is lost nothing will be told in any case.
      this.#log.of(lease).debug({ error, kind: lease.aborted.kind }, 'the handler has stopped')
      return { kind: 'released' }
    }
    const failure = failureOf(error)
    this.#log.of(lease).warn({ error, retryable: failure.retryable }, 'the handler failed')
    return { kind: 'failed', failure }
  }
}
