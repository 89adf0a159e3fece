import { backoff, pause } from '../client/backoff.ts'
import { GateError, pauseAfter } from '../client/gate-error.ts'
import type { Calls } from './calls.ts'
import { Completions } from './completions.ts'
import { bareFailure, refusedFailure } from './errors.ts'
import type { HeldLease } from './lease.ts'
import { isCanceled, isGone } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics, TaskEnd } from './metrics.ts'
import type { ResultSigner } from './result-signer.ts'
import type { Outcome } from './runner.ts'
import { Limiter } from './timing.ts'

/** Failures, releases and questions have no batch request. */
const MAX_REQUESTS = 16

const OUTAGE_PAUSES = { firstMs: 250, maxMs: 5000 }

/** Statuses that refuse the report itself; 200 is the status of one item of a batch. */
const REFUSED: ReadonlySet<number> = new Set([200, 400, 409, 413, 422])

/** A wrong key may be replaced, a proxy may recover, and an internal error may not occur again. */
function isTransient(error: GateError): boolean {
  return error.retryable || error.code === 'INTERNAL_ERROR' || !REFUSED.has(error.status)
}

interface Deps {
  readonly calls: Calls
  readonly log: WorkerLog
  readonly metrics: Metrics
  readonly signer: ResultSigner | undefined
}

/** Reports the outcomes of tasks, repeatedly until the server has responded or the lease has ended. */
export class Reporter {
  readonly #deps: Deps
  readonly #completions: Completions
  readonly #requests = new Limiter(MAX_REQUESTS)
  readonly #outage = new Outage()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#completions = new Completions(deps.calls)
  }

  /** Resolves when there is nothing left to report. */
  async report(lease: HeldLease, outcome: Outcome): Promise<TaskEnd> {
    let reported = outcome
    for (;;) {
      await this.#outage.over()
      const { lost } = lease
      if (lost !== undefined) return lost === 'canceled' ? 'canceled' : 'lost'
      if (this.#deps.calls.isClosed) return 'lost'
      const isRepeated = lease.mayBeReported
      lease.mayBeReported = true
      try {
        const end = await this.#send(lease, reported)
        this.#outage.ended()
        return end
      } catch (error) {
        const next = this.#failed(lease, reported, error, isRepeated)
        if (typeof next === 'string') return next
        reported = next
      }
    }
  }

  /** Releases a task, possibly while its handler still runs. */
  async release(lease: HeldLease): Promise<void> {
    await this.#requests.run(() => this.#deps.calls.release(lease.key))
  }

  /** Ends all waits for the server. */
  close(): void {
    this.#outage.close()
  }

  async #send(lease: HeldLease, outcome: Outcome): Promise<TaskEnd> {
    const { key } = lease
    const { calls } = this.#deps
    switch (outcome.kind) {
      case 'completed': {
        const { result, artifacts, bytes } = outcome
        const completion_metadata = await this.#metadata(lease, result)
        await this.#completions.complete({ ...key, result, artifacts, completion_metadata }, bytes)
        return 'completed'
      }
      case 'failed': {
        const { requeued } = await this.#requests.run(() => calls.fail(key, outcome.failure))
        return requeued ? 'retried' : 'failed'
      }
      case 'released':
        await this.release(lease)
        return 'released'
      case 'asked':
        await this.#requests.run(() => calls.ask(key, outcome.question))
        return 'parked'
    }
  }

  /** The signature of the result, if the worker has a key. */
  async #metadata({ offer }: HeldLease, result: unknown): Promise<object | undefined> {
    const { signer } = this.#deps
    return signer && { worker_signature: await signer.sign(offer, result) }
  }

  /** The end of the task, or what to report next. */
  #failed(lease: HeldLease, outcome: Outcome, error: unknown, isRepeated: boolean): TaskEnd | Outcome {
    const log = this.#deps.log.of(lease)
    if (!(error instanceof GateError)) {
      // The worker has stopped meanwhile, and the lease expires.
      log.warn({ error }, 'the outcome of a task was not reported')
      return 'lost'
    }
    if (isGone(error)) return endOfLostLease(outcome, isRepeated, error)
    if (isTransient(error)) {
      // The server may have received this report: the lease may have ended because of it.
      lease.mayBeReported = isRepeated || error.uncertain
      this.#deps.metrics.counts.report_errors++
      log.warn({ error }, 'the outcome of a task could not be reported; trying again')
      this.#outage.began(error)
      return outcome
    }
    log.error({ error }, 'the server refused the outcome of a task')
    return fallback(outcome, error) ?? 'lost'
  }
}

/** An earlier report may have been processed without a response, which explains why the lease has ended. */
function endOfLostLease(outcome: Outcome, isRepeated: boolean, error: GateError): TaskEnd {
  if (isRepeated && outcome.kind === 'failed') return 'retried'
  if (isRepeated && outcome.kind === 'released') return 'released'
  return isCanceled(error.details) ? 'canceled' : 'lost'
}

/** What to report instead of a refused outcome. */
function fallback(outcome: Outcome, { code, message }: GateError): Outcome | undefined {
  if (outcome.kind === 'released') return undefined
  const failure =
    outcome.kind === 'failed'
      ? bareFailure(outcome.failure)
      : refusedFailure(outcome.kind === 'completed' ? 'RESULT' : 'QUESTION', code, message)
  return failure && { kind: 'failed', failure }
}

/** One pause for all failed reports, so that they share requests when the server is back. */
class Outage {
  readonly #closing = new AbortController()
  #failures = 0
  #pause: Promise<void> | undefined

  /** Resolves when it is time to try again: immediately if there is no outage. */
  async over(): Promise<void> {
    await this.#pause
  }

  began(error: unknown): void {
    if (this.#pause !== undefined) return
    this.#failures++
    const ms = pauseAfter(error, backoff(this.#failures, OUTAGE_PAUSES))
    this.#pause = pause(ms, this.#closing.signal)
      .catch(() => {})
      .finally(() => {
        this.#pause = undefined
      })
  }

  ended(): void {
    this.#failures = 0
  }

  close(): void {
    this.#closing.abort()
  }
}
