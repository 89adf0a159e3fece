import type { Calls } from './calls.ts'
import { type Failure, failureOf, Parked, Permanent, schemaFailure } from './errors.ts'
import { HookCalls } from './hook-calls.ts'
import type { Hooks } from './hooks.ts'
import type { HeldLease } from './lease.ts'
import type { Leases } from './leases.ts'
import type { LogLevel, TaskLog, WorkerLog } from './log.ts'
import { LogLines } from './log-lines.ts'
import type { Metrics } from './metrics.ts'
import { ProgressReports } from './progress.ts'
import { type Question, Questions } from './questions.ts'
import { type Result, type ResultStore, resultOf } from './results.ts'
import { check } from './schema.ts'
import type { TaskContext } from './task.ts'
import { milliseconds, now } from './timing.ts'

/** How a run ended, to be reported to the server. */
export type Outcome =
  | ({ readonly kind: 'completed' } & Result)
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'released' }
  | { readonly kind: 'asked'; readonly question: Question }

interface Deps {
  readonly leases: Leases
  readonly calls: Calls
  readonly log: WorkerLog
  readonly metrics: Metrics
  readonly results: ResultStore | undefined
  readonly sendsLogs: boolean
  /** The hooks of the worker. */
  readonly hooks: Hooks | undefined
}

/** Runs handlers. */
export class Runner {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async run(lease: HeldLease): Promise<Outcome> {
    const context = openContext(lease, this.#deps)
    const hooks = new HookCalls(lease, context.ctx, this.#deps.hooks)
    try {
      const outcome = await this.#attempt(lease, context, hooks)
      await hooks.ended(outcome)
      return outcome
    } finally {
      await context.close()
    }
  }

  async #attempt(lease: HeldLease, context: RunContext, hooks: HookCalls): Promise<Outcome> {
    const { definition, offer } = lease
    const { leases, results } = this.#deps
    try {
      const input = await check(definition.input, offer.payload)
      if ('problems' in input) return this.#invalid(lease, schemaFailure('INPUT', input.problems))
      // Before the handler runs: one that blocks the event loop also blocks the renewal of its lease.
      if (lease.isShort) await leases.extend(lease, (definition.leaseSeconds ?? 0) * 1000)
      await hooks.started()
      const returned = await this.#handle(lease, input.value, context.ctx)
      if (context.question !== undefined) return this.#ignoredPark(lease, context.question)
      const output = await check(definition.output, returned)
      if ('problems' in output) return this.#invalid(lease, schemaFailure('OUTPUT', output.problems))
      const { result, artifacts, bytes } = await resultOf(
        offer.task_id,
        output.value,
        definition.channel,
        results,
      )
      await hooks.succeeded(output.value)
      return { kind: 'completed', result, artifacts, bytes }
    } catch (error) {
      const { question } = context
      if (question === undefined) return this.#thrown(lease, error)
      return error instanceof Parked ? { kind: 'asked', question } : this.#ignoredPark(lease, question)
    }
  }

  async #handle({ definition, offer }: HeldLease, input: unknown, ctx: TaskContext): Promise<unknown> {
    const startedAt = now()
    try {
      return await definition.run(input, ctx)
    } finally {
      this.#deps.metrics.ran(offer.type, now() - startedAt)
    }
  }

  #invalid(lease: HeldLease, failure: Failure): Outcome {
    this.#deps.log.of(lease).warn(failure.error, 'the task does not match its schema')
    return { kind: 'failed', failure }
  }

  /** The question is still asked: without it the task would never be answered. */
  #ignoredPark(lease: HeldLease, question: Question): Outcome {
    const text =
      'the handler continued after a question: its result is dropped, and it runs again with the answer'
    this.#deps.log.of(lease).warn({ kind: question.kind }, text)
    return { kind: 'asked', question }
  }

  #thrown(lease: HeldLease, error: unknown): Outcome {
    const log = this.#deps.log.of(lease)
    if (lease.aborted !== undefined && !(error instanceof Permanent)) {
      // For a lost lease nothing is reported in any case.
      log.debug({ error, kind: lease.aborted.kind }, 'the handler has stopped')
      return { kind: 'released' }
    }
    const failure = failureOf(error)
    log.warn({ error, retryable: failure.retryable }, 'the handler failed')
    return { kind: 'failed', failure }
  }
}

type RunContext = ReturnType<typeof openContext>

/** The context of a run. Its parts are created on first use: most short tasks use none. */
function openContext(lease: HeldLease, deps: Deps) {
  const { offer } = lease
  const { leases, calls, log } = deps
  let reports: ProgressReports | undefined
  let taskLog: TaskLog | undefined
  let lines: LogLines | undefined
  let questions: Questions | undefined
  const asking = () => {
    questions ??= new Questions(offer)
    return questions
  }
  const openLog = (): TaskLog => {
    const local = log.of(lease)
    const at =
      (level: LogLevel) =>
      (message: string, fields: object = {}) => {
        local.write(level, { ...fields }, message)
        if (!deps.sendsLogs || level === 'debug') return
        lines ??= new LogLines(lease, calls, log)
        lines.add(level, message, { ...fields })
      }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }
  const ctx: TaskContext = {
    task: offer,
    attempt: offer.attempt,
    fence: offer.fence,
    get signal() {
      return lease.signal
    },
    progress(latest, options) {
      reports ??= new ProgressReports(lease, deps)
      reports.report(latest, options?.milestone === true)
    },
    get log() {
      taskLog ??= openLog()
      return taskLog
    },
    extend: async (duration) => leases.extend(lease, milliseconds(duration)),
    ask: async (request) => asking().ask(request),
    approval: async (request) => asking().approval(request),
    idempotencyKey: offer.task_id,
  }
  return {
    ctx,
    /** The question that ended the run. */
    get question() {
      return questions?.open
    },
    /** Resolves when the last log lines were sent, or when that takes too long. */
    async close() {
      reports?.close()
      await lines?.close()
    },
  }
}
