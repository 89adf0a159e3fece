import { backoff, pause, RETRY_LOOP } from './backoff.ts'
import { resultOf, type TaskOf, WaitTimeout } from './client-outcome.ts'
import { GateError } from './gate-error.ts'
import {
  type CancelTaskAnswer,
  type CancelTasksInput,
  type CreateTaskAnswer,
  type CreateTaskInput,
  type EventsInput,
  type ListOpenObligationsInput,
  type ListReceiptsInput,
  type ListTasksInput,
  Operations,
  type Receipt,
  ROUTES,
  type Task,
  type TaskChange,
  type WaitForTaskAnswer,
} from './operations.ts'
import { type CallOptions, fieldsOf, placed, type Route } from './route.ts'
import { type EventOptions, type GateAddress, queryOf, Transport } from './transport.ts'

export type { RetryPolicy } from './backoff.ts'
export { resultOf, TaskCanceled, TaskError, TaskFailed, type TaskOf, WaitTimeout } from './client-outcome.ts'
export { GateError } from './gate-error.ts'
export {
  type CheckpointStore,
  LedgerGuard,
  type LedgerGuardOptions,
  memoryCheckpoints,
} from './ledger-guard.ts'
export {
  openCheckpoint,
  type ProvenReceipt,
  type ReceiptProof,
  verifyConsistency,
  verifyReceipt,
} from './ledger-proof.ts'
export { type Checkpoint, LedgerProofError } from './ledger-text.ts'
export type * from './operations.ts'
export type { CallOptions } from './route.ts'
export type { EventOptions, GateAddress } from './transport.ts'
export { verifyWorkerSignature, type WorkerSignature } from './worker-signature.ts'

export interface ClientOptions extends GateAddress, Pick<CallOptions, 'retry' | 'timeoutMs'> {
  /** The name of the agent, for a key that several agents share. A key that is bound to an agent implies it. */
  readonly agent?: string | undefined
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** The time limit of the whole wait; none by default. */
  readonly timeoutMs?: number | undefined
  /**
   * Called with the current task before it has ended: immediately when it starts to wait for a person or for input, otherwise
   * about every half minute.
   */
  readonly onUpdate?: ((task: Task) => void) | undefined
}

/** The name, payload and result of a task type, as `task()` of asyncgate/worker returns it. */
export interface TaskType<Payload, Result> {
  readonly name: string
  /** Only for type inference. */
  readonly types?: { readonly payload: Payload; readonly result: Result } | undefined
}

/** The input of create_task without type and payload, and the signal of the call. */
export type SubmitOptions = Omit<CreateTaskInput, 'type' | 'payload'> & Pick<CallOptions, 'signal'>

export type RunOptions = SubmitOptions & WaitOptions

/** Creates a client for agents and other programs. */
export function client(options: ClientOptions): Client {
  return new Client(options)
}

/** How long the server holds one request of a wait. */
const HOLD_SECONDS = 25

/** The response should arrive before the time limit of the caller. */
const MARGIN_MS = 200

/** The time limit of the last read, if the wait timed out before any response. */
const LAST_READ_MS = 1000

/** The pause after an early response: the server is about to stop. */
const PAUSE_MS = 1000

/** The number of tasks between two calls of `onCount`. */
const COUNT_INTERVAL = 1000

/** The tasks to cancel and the reason. `all: true` means every task that the caller may cancel. */
export type CancelFilter = Omit<CancelTasksInput, 'task_ids' | 'limit' | 'cursor' | 'dry_run'>

export interface CancelAllOptions extends CallOptions {
  /** Called with the current count after about every thousand tasks. */
  readonly onCount?: (count: number) => void
}

export interface CanceledTasks {
  readonly count: number
  /** Matching tasks that had already ended. */
  readonly skipped: number
}

export class Client extends Operations {
  readonly #transport: Transport
  readonly #agent: string | undefined
  readonly #defaults: CallOptions

  constructor(options: ClientOptions) {
    super()
    this.#transport = new Transport(options)
    this.#agent = options.agent
    this.#defaults = { retry: options.retry, timeoutMs: options.timeoutMs }
  }

  get url(): string {
    return this.#transport.url
  }

  /** Creates a task. It is durable when this resolves. */
  submit<Payload, Result>(
    type: TaskType<Payload, Result>,
    payload?: Payload,
    options?: SubmitOptions,
  ): Promise<Submitted<Result>>
  submit<Result = unknown>(
    type: string,
    payload?: unknown,
    options?: SubmitOptions,
  ): Promise<Submitted<Result>>
  async submit<Result>(
    type: string | TaskType<unknown, Result>,
    payload?: unknown,
    options: SubmitOptions = {},
  ): Promise<Submitted<Result>> {
    const { signal, ...rest } = options
    const input = { ...rest, type: typeof type === 'string' ? type : type.name, payload }
    return new Submitted(this, await this.createTask(input, { signal }))
  }

  /**
   * Resolves with the task when it has ended, in any status, also across restarts of the server. Throws WaitTimeout with the
   * last known state of the task.
   */
  async wait<Result = unknown>(taskId: string, options: WaitOptions = {}): Promise<TaskOf<Result>> {
    const { signal, timeoutMs } = options
    const stop = new AbortController()
    const abort = () => stop.abort(signal?.reason)
    const late = new Error('late')
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop.abort(late), timeoutMs)
    const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs
    const wait: Wait = { until, signal: stop.signal, onUpdate: options.onUpdate, seen: undefined }
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    try {
      return await this.#waitUntil<Result>(taskId, wait)
    } catch (error) {
      if (error !== late || timeoutMs === undefined) throw error
      const seen = wait.seen ?? (await this.#lastRead(taskId, signal))
      if (hasEnded<Result>(seen)) return seen
      throw new WaitTimeout(taskId, timeoutMs, seen)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  async #waitUntil<Result>(taskId: string, wait: Wait): Promise<TaskOf<Result>> {
    const { signal, onUpdate } = wait
    for (let failures = 0; ; ) {
      try {
        const asked = performance.now()
        const left = wait.until - asked
        const holdMs = Math.min(
          HOLD_SECONDS * 1000,
          Math.max(0, left > 5 * MARGIN_MS ? left - MARGIN_MS : left),
        )
        const response = await this.call<WaitResponse<Result>>(
          ROUTES.waitForTask,
          {
            task_id: taskId,
            wait_seconds: holdMs / 1000,
            // With onUpdate, the wait also ends when the task starts to wait for a person or for input.
            until: onUpdate === undefined || isWaiting(wait.seen) ? 'done' : 'rest',
          },
          { signal },
        )
        const { done, next_check_after_seconds: _, live_workers: __, ...task } = response
        if (done) return task
        failures = 0
        const isNews = task.status !== wait.seen?.status
        wait.seen = task
        onUpdate?.(task)
        const isHeld = performance.now() - asked > Math.min(holdMs, PAUSE_MS) / 2
        if (!isHeld && !(isNews && isWaiting(task))) await pause(PAUSE_MS, signal)
      } catch (error) {
        if (wait.seen === undefined || !(error instanceof GateError) || !error.retryable) throw error
        failures += 1
        await pause(backoff(failures, RETRY_LOOP), signal)
      }
    }
  }

  async #lastRead(taskId: string, signal: AbortSignal | undefined): Promise<Task | undefined> {
    try {
      return await this.getTask({ task_id: taskId }, { signal, timeoutMs: LAST_READ_MS, retry: false })
    } catch (error) {
      if (error instanceof GateError) return undefined
      throw error
    }
  }

  /** Creates a task and waits for its result. Throws TaskFailed or TaskCanceled. */
  run<Payload, Result>(
    type: TaskType<Payload, Result>,
    payload?: Payload,
    options?: RunOptions,
  ): Promise<Result>
  run<Result = unknown>(type: string, payload?: unknown, options?: RunOptions): Promise<Result>
  async run<Result>(
    type: string | TaskType<unknown, Result>,
    payload?: unknown,
    options: RunOptions = {},
  ): Promise<Result> {
    const { timeoutMs, onUpdate, ...rest } = options
    const name = typeof type === 'string' ? type : type.name
    const submitted = await this.submit<Result>(name, payload, rest)
    return submitted.result({ signal: options.signal, timeoutMs, onUpdate })
  }

  /**
   * The result of an ended task; throws TaskFailed or TaskCanceled. JSON in a channel is fetched; for other content in a
   * channel this is the pointer to it.
   */
  async result<Result>(task: TaskOf<Result>, options?: CallOptions): Promise<Result> {
    const given = resultOf(task)
    if (task.result?.how_to_retrieve === undefined || !isJson(given)) return given
    const fields = this.#agent === undefined ? {} : { agent_id: this.#agent }
    return this.#transport.request<Result>('GET', `/v1/tasks/${task.task_id}/result`, fields, options)
  }

  /**
   * Cancels all open tasks that match, as one operation: it does not affect tasks that are created meanwhile. Aborting the
   * signal stops it; tasks that are canceled by then stay canceled.
   */
  async cancelAll(filter: CancelFilter, options: CancelAllOptions = {}): Promise<CanceledTasks> {
    const { onCount, ...call } = options
    let count = 0
    let skipped = 0
    let cursor: string | null | undefined
    while (cursor !== null) {
      const input = { ...filter, cursor, limit: onCount === undefined ? undefined : COUNT_INTERVAL }
      const page = await this.cancelTasks(input, call)
      count += page.count
      skipped += page.skipped
      cursor = page.next_cursor
      onCount?.(count)
    }
    return { count, skipped }
  }

  /** The matching tasks of the caller, newest first. Pages are fetched on demand. */
  async *tasks(filter: Omit<ListTasksInput, 'cursor'> = {}, options?: CallOptions): Pages<Task> {
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await this.listTasks({ ...filter, cursor }, options)
      yield* page.tasks
      cursor = page.next_cursor
    }
  }

  /** Receipts addressed to the caller, oldest first. */
  async *receipts(filter: ListReceiptsInput = {}, options?: CallOptions): Pages<Receipt> {
    let since: string | null | undefined = filter.since_receipt_id
    while (since !== null) {
      const page = await this.listReceipts({ ...filter, since_receipt_id: since }, options)
      yield* page.receipts
      since = page.next_cursor
    }
  }

  /** The open obligations towards the caller, oldest first. */
  async *obligations(filter: ListOpenObligationsInput = {}, options?: CallOptions): Pages<Receipt> {
    let since: string | null | undefined = filter.since_receipt_id
    while (since !== null) {
      const page = await this.listOpenObligations({ ...filter, since_receipt_id: since }, options)
      yield* page.open_obligations
      since = page.cursor
    }
  }

  /**
   * Changes of tasks as they happen, until the loop ends or the signal is aborted. A broken stream is reopened, which calls
   * `onOpen`; read changes that were missed in between with `tasks`.
   */
  async *events(filter: EventsInput = {}, options: EventOptions = {}): Pages<TaskChange> {
    const query = this.#agent === undefined ? filter : { agent_id: this.#agent, ...filter }
    const events = this.#transport.events<TaskChange>(`/v1/events${queryOf(query)}`, options)
    for await (const { event, data } of events) if (event === 'task') yield data
  }

  protected override call<Response>(route: Route, input: object, options?: CallOptions): Promise<Response> {
    const { path, rest } = placed(route, fieldsOf(route, input, this.#agent))
    return this.#transport.request<Response>(route.method, path, rest, {
      signal: options?.signal,
      timeoutMs: options?.timeoutMs ?? this.#defaults.timeoutMs,
      retry: options?.retry ?? this.#defaults.retry,
      repeatable: route.repeatable,
    })
  }
}

interface Wait {
  /** A reading of performance.now(). */
  readonly until: number
  readonly signal: AbortSignal
  readonly onUpdate: WaitOptions['onUpdate']
  /** The last known state of the task. */
  seen: Task | undefined
}

/** Whether the task waits for a person or for input. */
function isWaiting(task: Task | undefined): boolean {
  return task?.status === 'pending_approval' || task?.status === 'input_required'
}

function hasEnded<Result>(task: Task | undefined): task is Task & TaskOf<Result> {
  return task?.status === 'succeeded' || task?.status === 'failed' || task?.status === 'canceled'
}

function isJson(pointer: unknown): boolean {
  return (
    typeof pointer === 'object' &&
    pointer !== null &&
    'media_type' in pointer &&
    pointer.media_type === 'application/json'
  )
}

type WaitResponse<Result> = TaskOf<Result> & Omit<WaitForTaskAnswer, keyof Task>

type Pages<Item> = AsyncGenerator<Item, void, void>

/** A created task. */
export class Submitted<Result = unknown> {
  readonly id: string
  /** Whether a task with the same idempotency_key existed: then this is that task. */
  readonly isDuplicate: boolean
  /** The receipt that records the obligation towards the caller. */
  readonly receiptId: string
  readonly #client: Client

  constructor(client: Client, created: CreateTaskAnswer) {
    this.#client = client
    this.id = created.task_id
    this.isDuplicate = created.is_duplicate
    this.receiptId = created.receipt_id
  }

  /** Resolves with the task when it has ended. */
  wait(options?: WaitOptions): Promise<TaskOf<Result>> {
    return this.#client.wait<Result>(this.id, options)
  }

  /** The result of the task; throws TaskFailed or TaskCanceled. */
  async result(options?: WaitOptions): Promise<Result> {
    return this.#client.result(await this.wait(options), { signal: options?.signal })
  }

  cancel(reason?: string, options?: CallOptions): Promise<CancelTaskAnswer> {
    return this.#client.cancelTask({ task_id: this.id, reason }, options)
  }
}
