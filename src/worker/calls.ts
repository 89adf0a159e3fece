import {
  type CompleteInput,
  type CompleteManyAnswer,
  type FailAnswer,
  type ItemError,
  type LeaseNextAnswer,
  type LeaseNextInput,
  type Offer,
  type RenewLeaseInput,
  type RenewManyAnswer,
  type ReportProgressAnswer,
  ROUTES,
} from '../client/operations.ts'
import type { Transport } from '../client/transport.ts'
import type { LogLine } from './log-lines.ts'
import type { Question } from './questions.ts'

/** What every call of a lease holder names. */
export interface LeaseKey {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

/** The operator wants this worker to stop. */
interface MayDrain {
  readonly drain?: boolean
}

/** What `fail` says. */
export interface Failure {
  readonly error: Readonly<Record<string, unknown>>
  readonly retryable: boolean
  readonly retry_after_seconds?: number
}

type ClaimInput = Omit<LeaseNextInput, 'worker_id'> & {
  /** Tells this process from others under the same worker_id. */
  readonly worker_instance_id?: string | undefined
}

/** A request that gets no answer is given up after this, so that there is time for another. */
const TIMEOUT_MS = 15_000

/** The way to and fro, on top of the time that the server is asked to wait. */
const WAY_MS = 10_000

/** The calls of a worker. None is sent again by itself: each knows best for how long that is of use. */
export class Calls {
  readonly #transport: Transport
  readonly #workerId: string
  readonly #onDrain: () => void
  /** One for each request: Node warns of a signal that many listen to. */
  readonly #underWay = new Set<AbortController>()
  #isClosed = false

  constructor(transport: Transport, workerId: string, onDrain: () => void) {
    this.#transport = transport
    this.#workerId = workerId
    this.#onDrain = onDrain
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Nothing is sent any more, nor waited for. */
  close(): void {
    this.#isClosed = true
    for (const controller of this.#underWay) controller.abort()
  }

  key({ task_id, lease_id }: Pick<Offer, 'task_id' | 'lease_id'>): LeaseKey {
    return { worker_id: this.#workerId, task_id, lease_id }
  }

  async claim(input: ClaimInput, signal: AbortSignal): Promise<LeaseNextAnswer> {
    const timeoutMs = (input.wait_seconds ?? 0) * 1000 + WAY_MS
    const body = { worker_id: this.#workerId, ...input }
    return this.#heed(await this.#send<LeaseNextAnswer>(ROUTES.leaseNext.path, body, timeoutMs, signal))
  }

  async renewMany(items: readonly RenewLeaseInput[]): Promise<RenewManyAnswer['results']> {
    const answer = await this.#post<RenewManyAnswer>(ROUTES.renewMany.path, { items })
    this.#heed(answer)
    for (const result of answer.results) this.#heed(result)
    return answer.results
  }

  async completeMany(items: readonly CompleteInput[]): Promise<CompleteManyAnswer['results']> {
    return (await this.#post<CompleteManyAnswer>(ROUTES.completeMany.path, { items })).results
  }

  fail(key: LeaseKey, failure: Failure): Promise<FailAnswer> {
    return this.#post(pathOf(ROUTES.fail.path, key), { ...key, ...failure })
  }

  async release(key: LeaseKey): Promise<void> {
    await this.#post(ROUTES.releaseLease.path, key)
  }

  /** Parks the task until somebody answers. The lease ends with it. */
  async ask(key: LeaseKey, question: Question): Promise<void> {
    await this.#post(pathOf(ROUTES.ask.path, key), { ...key, ...question })
  }

  /** The task was canceled under this lease: says that the worker has heard, or that its work has stopped. */
  async reportCancel(key: LeaseKey, stage: 'acknowledged' | 'stopped'): Promise<void> {
    await this.#post(pathOf(ROUTES.reportCancel.path, key), { ...key, stage })
  }

  async progress(key: LeaseKey, progress: object, milestone: boolean): Promise<void> {
    const path = pathOf(ROUTES.reportProgress.path, key)
    const body = { ...key, progress, ...(milestone && { milestone }) }
    this.#heed(await this.#post<ReportProgressAnswer>(path, body))
  }

  async appendLogs(key: LeaseKey, lines: readonly LogLine[]): Promise<void> {
    await this.#post(pathOf(ROUTES.appendLogs.path, key), { ...key, lines })
  }

  /** The name will not be used again, and need not be remembered. */
  async unregister(): Promise<void> {
    const worker_id = this.#workerId
    const path = ROUTES.unregisterWorker.path.replace('{worker_id}', encodeURIComponent(worker_id))
    await this.#post(path, { worker_id })
  }

  async #post<Answer>(path: string, body: object, timeoutMs = TIMEOUT_MS): Promise<Answer> {
    const controller = new AbortController()
    if (this.#isClosed) controller.abort()
    this.#underWay.add(controller)
    try {
      return await this.#send<Answer>(path, body, timeoutMs, controller.signal)
    } finally {
      this.#underWay.delete(controller)
    }
  }

  #send<Answer>(path: string, body: object, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
    return this.#transport.request<Answer>('POST', path, body, { timeoutMs, signal, retry: false })
  }

  #heed<Answer extends object>(answer: Answer & MayDrain): Answer {
    if (answer.drain === true) this.#onDrain()
    return answer
  }
}

function pathOf(path: string, { task_id }: LeaseKey): string {
  return path.replace('{task_id}', encodeURIComponent(task_id))
}

export function isError(result: object | ItemError): result is ItemError {
  return 'code' in result
}
