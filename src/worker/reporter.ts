import { GateError } from '../client/transport.ts'
import type { Calls, Failure } from './calls.ts'
import { Completions } from './completions.ts'
import { bare, refusedQuestion, refusedResult } from './failure.ts'
import type { HeldLease } from './lease.ts'
import { isCanceled, isGone } from './leases.ts'
import { Limiter } from './limiter.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics, TaskEnd } from './metrics.ts'
import { Outage } from './outage.ts'
import type { Outcome } from './runner.ts'

/** Failures and releases have no request for many of them. */
const MAX_REQUESTS = 16

/** Answers that are about what was reported; 200 is that of one item among many. */
const ABOUT_IT: ReadonlySet<number> = new Set([200, 400, 409, 413, 422])

/** A key that is wrong now may be the right one soon, a proxy may lose its way, and a bug may not hit twice. */
function mayPass(error: GateError): boolean {
  return error.retryable || error.code === 'INTERNAL_ERROR' || !ABOUT_IT.has(error.status)
}

/** Tells the server how tasks ended, again and again until it knows, or until the lease is over. */
export class Reporter {
  readonly #calls: Calls
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #completions: Completions
  readonly #others = new Limiter(MAX_REQUESTS)
  readonly #outage = new Outage()

  constructor(calls: Calls, log: WorkerLog, metrics: Metrics) {
    this.#calls = calls
    this.#log = log
    this.#metrics = metrics
    this.#completions = new Completions(calls)
  }

  /** Resolves when there is nothing more to tell. */
  async report(lease: HeldLease, outcome: Outcome): Promise<TaskEnd> {
    let told = outcome
    for (;;) {
      await this.#outage.over()
      const { lost } = lease
      if (lost !== undefined) return lost === 'canceled' ? 'canceled' : 'lost'
      if (this.#calls.isClosed) return 'lost'
      const wasTold = lease.told
      lease.told = true
      try {
        const end = await this.#tell(lease, told)
        this.#outage.ended()
        return end
      } catch (error) {
        const next = this.#judge(lease, told, error, wasTold)
        if (typeof next === 'string') return next
        told = next
      }
    }
  }

  /** Gives a task back while its handler still runs. */
  async giveBack(lease: HeldLease): Promise<void> {
    await this.#others.run(() => this.#calls.release(lease.key))
  }

  /** Whoever waits for the server to come back waits no longer. */
  close(): void {
    this.#outage.close()
  }

  async #tell(lease: HeldLease, outcome: Outcome): Promise<TaskEnd> {
    const { key } = lease
    switch (outcome.kind) {
      case 'completed': {
        const { worker_id, task_id, lease_id } = key
        const { result, artifacts, bytes } = outcome
        await this.#completions.complete({ worker_id, task_id, lease_id, result, artifacts }, bytes)
        return 'completed'
      }
      case 'failed': {
        const { requeued } = await this.#others.run(() => this.#calls.fail(key, outcome.failure))
        return requeued ? 'retried' : 'failed'
      }
      case 'released':
        await this.giveBack(lease)
        return 'released'
      case 'asked':
        await this.#others.run(() => this.#calls.ask(key, outcome.question))
        return 'parked'
    }
  }

  /** How it ended after all, or what to tell next. */
  #judge(lease: HeldLease, outcome: Outcome, error: unknown, wasTold: boolean): TaskEnd | Outcome {
    if (!(error instanceof GateError)) {
      // The worker has ended meanwhile, and the lease lapses.
      this.#log.of(lease).warn({ error }, 'the end of a task was not told')
      return 'lost'
    }
    if (isGone(error)) return goneAs(outcome, wasTold, error)
    if (mayPass(error)) {
      // As long as nobody knows whether it was heard, the next answer has to be asked for.
      lease.told = wasTold || error.uncertain
      this.#metrics.reportFailed()
      this.#log.of(lease).warn({ error }, 'the end of a task could not be told; trying again')
      this.#outage.began(error)
      return outcome
    }
    this.#log.of(lease).error({ error }, 'the server does not take the end of a task')
    return lesser(outcome, error) ?? 'lost'
  }
}

/** The first sending may have been carried out: then the lease is over for that reason. */
function goneAs(outcome: Outcome, wasTold: boolean, error: GateError): TaskEnd {
  if (wasTold && outcome.kind === 'failed') return 'retried'
  if (wasTold && outcome.kind === 'released') return 'released'
  return isCanceled(error.details) ? 'canceled' : 'lost'
}

/** What can be told instead of something that was refused. */
function lesser(outcome: Outcome, { code, message }: GateError): Outcome | undefined {
  if (outcome.kind === 'completed') return { kind: 'failed', failure: refusedResult(code, message) }
  if (outcome.kind === 'asked') return { kind: 'failed', failure: refusedQuestion(code, message) }
  if (outcome.kind === 'failed' && !isBare(outcome.failure))
    return { kind: 'failed', failure: bare(outcome.failure) }
  return undefined
}

function isBare({ error }: Failure): boolean {
  return error.code === 'ERROR_REFUSED'
}
