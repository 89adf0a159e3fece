import {
  type CompleteInput,
  type CompleteManyAnswer,
  type FailAnswer,
  type ItemError,
  type LeaseNextAnswer,
  type LeaseNextInput,
  type Offer,
  type RegisterWorkerAnswer,
  type RegisterWorkerInput,
  type RenewLeaseInput,
  type RenewManyAnswer,
  type ReportProgressAnswer,
  ROUTES,
} from '../client/operations.ts'
import type { Transport } from '../client/transport.ts'
import type { Failure } from './errors.ts'
import type { LogLine } from './log.ts'
import type { Question } from './questions.ts'

/** The fields that identify a lease in every call of its holder. */
export interface LeaseKey {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

type ClaimInput = Omit<LeaseNextInput, 'worker_id'> & {
  /** Distinguishes this process from others with the same worker_id. */
  readonly worker_instance_id?: string | undefined
}

/** A request without a response fails after this time, so that it can be repeated before the lease expires. */
const TIMEOUT_MS = 15_000

/** Network time, in addition to the time for which the server holds the request. */
const NETWORK_MS = 10_000

/** The requests of a worker. None is retried here: each caller knows for how long a retry is useful. */
export class Calls {
  readonly #transport: Transport
  readonly #workerId: string
  readonly #onDrain: () => void
  /** One controller per request: Node warns about a signal with many listeners. */
  readonly #pending = new Set<AbortController>()
  #isClosed = false

  /** `onDrain` is called when a response says that the operator drains this worker. */
  constructor(transport: Transport, workerId: string, onDrain: () => void) {
    this.#transport = transport
    this.#workerId = workerId
    this.#onDrain = onDrain
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Aborts pending requests and all later ones. */
  close(): void {
    this.#isClosed = true
    for (const controller of this.#pending) controller.abort()
  }

  key({ task_id, lease_id }: Pick<Offer, 'task_id' | 'lease_id'>): LeaseKey {
    return { worker_id: this.#workerId, task_id, lease_id }
  }

  async claim(input: ClaimInput, signal: AbortSignal): Promise<LeaseNextAnswer> {
    const timeoutMs = (input.wait_seconds ?? 0) * 1000 + NETWORK_MS
    const body = { worker_id: this.#workerId, ...input }
    return this.#checkDrain(await this.#send<LeaseNextAnswer>(ROUTES.leaseNext.path, body, timeoutMs, signal))
  }

  async renewMany(items: readonly RenewLeaseInput[]): Promise<RenewManyAnswer['results']> {
    const response = await this.#post<RenewManyAnswer>(ROUTES.renewMany.path, { items })
    this.#checkDrain(response)
    for (const result of response.results) this.#checkDrain(result)
    return response.results
  }

  async completeMany(items: readonly CompleteInput[]): Promise<CompleteManyAnswer['results']> {
    return (await this.#post<CompleteManyAnswer>(ROUTES.completeMany.path, { items })).results
  }

  fail(key: LeaseKey, failure: Failure): Promise<FailAnswer> {
    return this.#postTask(ROUTES.fail.path, key, failure)
  }

  release(key: LeaseKey): Promise<unknown> {
    return this.#post(ROUTES.releaseLease.path, key)
  }

  /** Parks the task until the question is answered. This ends the lease. */
  ask(key: LeaseKey, question: Question): Promise<unknown> {
    return this.#postTask(ROUTES.ask.path, key, question)
  }

  reportCancel(key: LeaseKey, stage: 'acknowledged' | 'stopped'): Promise<unknown> {
    return this.#postTask(ROUTES.reportCancel.path, key, { stage })
  }

  async progress(key: LeaseKey, progress: object, milestone: boolean): Promise<void> {
    const body = { progress, ...(milestone && { milestone }) }
    this.#checkDrain(await this.#postTask<ReportProgressAnswer>(ROUTES.reportProgress.path, key, body))
  }

  appendLogs(key: LeaseKey, lines: readonly LogLine[]): Promise<unknown> {
    return this.#postTask(ROUTES.appendLogs.path, key, { lines })
  }

  /** Announces the worker and publishes its task types. */
  async register(input: Omit<RegisterWorkerInput, 'worker_id'>): Promise<void> {
    const body = { worker_id: this.#workerId, ...input }
    this.#checkDrain(await this.#post<RegisterWorkerAnswer>(ROUTES.registerWorker.path, body))
  }

  /** Removes the worker from the registry, because its generated name is not used again. */
  unregister(): Promise<unknown> {
    const worker_id = this.#workerId
    const path = ROUTES.unregisterWorker.path.replace('{worker_id}', encodeURIComponent(worker_id))
    return this.#post(path, { worker_id })
  }

  #postTask<Response>(path: string, key: LeaseKey, body: object): Promise<Response> {
    return this.#post(path.replace('{task_id}', encodeURIComponent(key.task_id)), { ...key, ...body })
  }

  async #post<Response>(path: string, body: object): Promise<Response> {
    const controller = new AbortController()
    if (this.#isClosed) controller.abort()
    this.#pending.add(controller)
    try {
      return await this.#send<Response>(path, body, TIMEOUT_MS, controller.signal)
    } finally {
      this.#pending.delete(controller)
    }
  }

  #send<Response>(path: string, body: object, timeoutMs: number, signal: AbortSignal): Promise<Response> {
    return this.#transport.request<Response>('POST', path, body, { timeoutMs, signal, retry: false })
  }

  #checkDrain<Response extends object>(response: Response & { readonly drain?: boolean }): Response {
    if (response.drain === true) this.#onDrain()
    return response
  }
}

export function isError(result: object | ItemError): result is ItemError {
  return 'code' in result
}
