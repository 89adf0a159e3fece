import { fieldsOf, placed } from './client-call.ts'
import { resultOf, type TaskOf, WaitTimeout } from './client-outcome.ts'
import {
  type CancelTaskAnswer,
  type CancelTasksInput,
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
import type { CallOptions, Route } from './route.ts'
import {
  backoff,
  type EventOptions,
  type GateAddress,
  GateError,
  pause,
  queryOf,
  RETRY_LOOP,
  Transport,
} from './transport.ts'

export { resultOf, TaskCanceled, TaskError, TaskFailed, type TaskOf, WaitTimeout } from './client-outcome.ts'
export type * from './operations.ts'
export type { CallOptions } from './route.ts'
export { type EventOptions, type GateAddress, GateError, type RetryPolicy } from './transport.ts'

export interface ClientOptions extends GateAddress, Pick<CallOptions, 'retry' | 'timeoutMs'> {
  /** Who calls, for a key that many share: the name of the agent. A key of one's own says it by itself. */
  readonly agent?: string | undefined
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** For all of the wait; without it the wait ends with the task. */
  readonly timeoutMs?: number | undefined
  /**
   * Called with the task whenever the wait sees it before its end: immediately when it starts to wait for a person or for
   * input, otherwise every half minute or so.
   */
  readonly onUpdate?: ((task: Task) => void) | undefined
}

/** What a task is called, takes and gives, as `task()` of asyncgate/worker says it. */
export interface TaskType<Payload, Result> {
  readonly name: string
  /** Only for the compiler. */
  readonly types?: { readonly payload: Payload; readonly result: Result } | undefined
}

/** All that create_task takes besides type and payload, and how to call. */
export type SubmitOptions = Omit<CreateTaskInput, 'type' | 'payload'> & Pick<CallOptions, 'signal'>

export type RunOptions = SubmitOptions & WaitOptions

/** A server, as an agent or any other program uses it. */
export function client(options: ClientOptions): Client {
  return new Client(options)
}

/** What the server holds open for one answer; the wait itself goes on. */
const HOLD_SECONDS = 25

/** The answer of a wait should be here before the time of the caller is over. */
const MARGIN_MS = 200

/** How long a last look may take when the time is over and the task was never seen. */
const LAST_LOOK_MS = 1000

/** Before a server that does not hold the call is asked again: it is about to stop. */
const PAUSE_MS = 1000

/** Tasks that are canceled between two counts. */
const COUNTED = 1000

/** Which tasks, and why. `all: true` means every task that the caller may cancel. */
export type CancelFilter = Omit<CancelTasksInput, 'task_ids' | 'limit' | 'cursor' | 'dry_run'>

export interface CancelAllOptions extends CallOptions {
  /** Called with the current count after about every thousand tasks. */
  readonly onCount?: (count: number) => void
}

export interface CanceledTasks {
  readonly count: number
  /** Those that fitted and had ended just before. */
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

  /** Hands over work. It is durable when this resolves. */
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
    const { task_id, is_duplicate, receipt_id } = await this.createTask(input, { signal })
    return new Submitted(this, { id: task_id, isDuplicate: is_duplicate, receiptId: receipt_id })
  }

  /**
   * The task, as soon as it has ended, however it has. A server that goes away meanwhile is waited for. Throws WaitTimeout
   * with the task as it was last seen.
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
      const seen = wait.seen ?? (await this.#lastLook(taskId, signal))
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
        const answer = await this.call<WaitAnswer<Result>>(
          ROUTES.waitForTask,
          {
            task_id: taskId,
            wait_seconds: holdMs / 1000,
            // Who is told of updates hears at once that the task waits for somebody.
            until: onUpdate === undefined || isWaiting(wait.seen) ? 'done' : 'rest',
          },
          { signal },
        )
        const { done, next_check_after_seconds: _, live_workers: __, ...task } = answer
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

  /** The task, if it can be had quickly. */
  async #lastLook(taskId: string, signal: AbortSignal | undefined): Promise<Task | undefined> {
    try {
      return await this.getTask({ task_id: taskId }, { signal, timeoutMs: LAST_LOOK_MS, retry: false })
    } catch (error) {
      if (error instanceof GateError) return undefined
      throw error
    }
  }

  /** Hands over work and waits for its result. Throws TaskFailed or TaskCanceled if there is none. */
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
   * What an ended task gave; throws TaskFailed or TaskCanceled. JSON that is kept in a channel is fetched from there; of
   * anything else in a channel this is where it is.
   */
  async result<Result>(task: TaskOf<Result>, options?: CallOptions): Promise<Result> {
    const given = resultOf(task)
    if (task.result?.how_to_retrieve === undefined || !isJson(given)) return given
    const fields = this.#agent === undefined ? {} : { agent_id: this.#agent }
    return this.#transport.request<Result>('GET', `/v1/tasks/${task.task_id}/result`, fields, options)
  }

  /**
   * Cancels all open tasks that fit, as one operation: those that are created meanwhile are left alone. It ends when the
   * signal aborts, and what is canceled by then stays so.
   */
  async cancelAll(filter: CancelFilter, options: CancelAllOptions = {}): Promise<CanceledTasks> {
    const { onCount, ...call } = options
    let count = 0
    let skipped = 0
    let cursor: string | null | undefined
    while (cursor !== null) {
      const input = { ...filter, cursor, limit: onCount === undefined ? undefined : COUNTED }
      const answer = await this.cancelTasks(input, call)
      count += answer.count
      skipped += answer.skipped
      cursor = answer.next_cursor
      onCount?.(count)
    }
    return { count, skipped }
  }

  /** The caller's tasks that fit, newest first. Pages are fetched as they are needed. */
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

  /** What is still owed to the caller, oldest first. */
  async *obligations(filter: ListOpenObligationsInput = {}, options?: CallOptions): Pages<Receipt> {
    let since: string | null | undefined = filter.since_receipt_id
    while (since !== null) {
      const page = await this.listOpenObligations({ ...filter, since_receipt_id: since }, options)
      yield* page.open_obligations
      since = page.cursor
    }
  }

  /**
   * Changes of tasks as they happen, until the loop is left or the signal aborts. The stream is opened again when it
   * breaks; `onOpen` is told, and what happened in between is read with `tasks`.
   */
  async *events(filter: EventsInput = {}, options: EventOptions = {}): Pages<TaskChange> {
    const query = this.#agent === undefined ? filter : { agent_id: this.#agent, ...filter }
    const events = this.#transport.events<TaskChange>(`/v1/events${queryOf(query)}`, options)
    for await (const { event, data } of events) if (event === 'task') yield data
  }

  protected override call<Answer>(route: Route, input: object, options?: CallOptions): Promise<Answer> {
    const { path, rest } = placed(route, fieldsOf(route, input, this.#agent))
    return this.#transport.request<Answer>(route.method, path, rest, {
      signal: options?.signal,
      timeoutMs: options?.timeoutMs ?? this.#defaults.timeoutMs,
      retry: options?.retry ?? this.#defaults.retry,
      repeatable: route.repeatable,
    })
  }
}

/** A wait that is under way. */
interface Wait {
  /** On the clock of performance.now(). */
  readonly until: number
  readonly signal: AbortSignal
  readonly onUpdate: WaitOptions['onUpdate']
  /** The task as it was last seen. */
  seen: Task | undefined
}

/** Whether it waits for a person or for input. */
function isWaiting(task: Task | undefined): boolean {
  return task?.status === 'pending_approval' || task?.status === 'input_required'
}

function hasEnded<Result>(task: Task | undefined): task is Task & TaskOf<Result> {
  return task?.status === 'succeeded' || task?.status === 'failed' || task?.status === 'canceled'
}

/** Whether a pointer is to JSON. */
function isJson(pointer: unknown): boolean {
  return (
    typeof pointer === 'object' &&
    pointer !== null &&
    'media_type' in pointer &&
    pointer.media_type === 'application/json'
  )
}

type WaitAnswer<Result> = TaskOf<Result> & Omit<WaitForTaskAnswer, keyof Task>

type Pages<Item> = AsyncGenerator<Item, void, void>

/** Work that was handed over. */
export class Submitted<Result = unknown> {
  readonly id: string
  /** Whether its idempotency_key was known: then this is the task that has it. */
  readonly isDuplicate: boolean
  /** The receipt of the obligation towards the caller. */
  readonly receiptId: string
  readonly #client: Client

  constructor(client: Client, facts: { id: string; isDuplicate: boolean; receiptId: string }) {
    this.#client = client
    this.id = facts.id
    this.isDuplicate = facts.isDuplicate
    this.receiptId = facts.receiptId
  }

  /** The task once it has ended. */
  wait(options?: WaitOptions): Promise<TaskOf<Result>> {
    return this.#client.wait<Result>(this.id, options)
  }

  /** What it gave; throws TaskFailed or TaskCanceled. */
  async result(options?: WaitOptions): Promise<Result> {
    return this.#client.result(await this.wait(options), { signal: options?.signal })
  }

  cancel(reason?: string, options?: CallOptions): Promise<CancelTaskAnswer> {
    return this.#client.cancelTask({ task_id: this.id, reason }, options)
  }
}
