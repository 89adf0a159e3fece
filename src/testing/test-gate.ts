import { Client, type Status, type SubmitOptions, type Task } from '../client/index.ts'
import { type Caller, OPERATOR as OPERATOR_PRINCIPAL } from '../core/principal.ts'
import { isParked, isTerminal } from '../core/transitions.ts'
import type { Gate } from '../features/gate.ts'
import type { OpenServer } from '../server/open-server.ts'
import { type TaskDefinition, type Worker, worker } from '../worker/index.ts'
import { type Duration, milliseconds } from '../worker/timing.ts'
import { Claims, OpenTasks } from './open-tasks.ts'

export const OPERATOR: Caller = {
  tenant: 'default',
  principal: OPERATOR_PRINCIPAL,
  role: 'admin',
}

/** Not the principal that creates the tasks: requesters cannot approve their own requests. */
const APPROVER: Caller = {
  tenant: 'default',
  principal: { kind: 'human', id: 'approver' },
  role: 'admin',
}

/** A clock that stands still until it is moved. */
export class TestClock {
  #now: number

  constructor(start: Date) {
    if (Number.isNaN(start.getTime())) throw new TypeError('start is not a valid date')
    this.#now = start.getTime()
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#now
  }

  /** Never moves backwards. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, Math.ceil(time))
  }
}

export interface ApproveOptions {
  readonly comment?: string
  /** Replaces the payload of the request. */
  readonly payload?: unknown
}

export interface Deps {
  readonly server: OpenServer
  readonly clock: TestClock
  readonly capabilities: readonly string[]
  readonly concurrency: number
}

const WAIT_MS = 5000

/** The worker that publishes the options of the tasks. It claims nothing. */
const OPTIONS_OF = 'test-options'

/** A gate for one test: a real server on loopback, an in-memory database, and a clock that stands still. */
export class TestGate implements AsyncDisposable {
  /** The URL for clients and workers in any language. No key is needed. */
  readonly url: string
  readonly gate: Gate
  /** A client that acts as the agent `test`. */
  readonly client: Client
  readonly #deps: Deps
  /** Can read the tasks of every agent. */
  readonly #operator: Client
  readonly #clock: TestClock
  readonly #open: OpenTasks
  readonly #tasks = new Map<string, TaskDefinition>()
  #draining = Promise.resolve()
  #worker: Worker | undefined
  #isClosed = false

  constructor(deps: Deps) {
    const { server, clock } = deps
    this.#deps = deps
    this.url = server.url
    this.gate = server.gate
    this.client = this.as('test')
    this.#operator = new Client({ url: server.url })
    this.#clock = clock
    this.#open = new OpenTasks(server.gate, OPERATOR)
  }

  /** The current time of the gate. */
  now(): Date {
    return new Date(this.#clock.now)
  }

  /** A client that acts as another agent. */
  as(agent: string): Client {
    return new Client({ url: this.url, agent })
  }

  /** Adds tasks that `drain` runs. Their options, such as retry and timeout, apply to tasks that are created later. */
  async register(...tasks: readonly TaskDefinition[]): Promise<void> {
    const added = tasks.filter((task) => this.#tasks.get(task.name) !== task)
    if (added.length === 0) return
    for (const task of added) this.#tasks.set(task.name, task)
    const task_types = [...this.#tasks.values()].flatMap(({ name, options }) =>
      options === undefined ? [] : { type: name, options },
    )
    await this.gate.registerWorker(OPERATOR, { worker_id: OPTIONS_OF, task_types })
  }

  /**
   * Runs a task to its end and returns its result, or throws TaskFailed. Between attempts the clock moves to the time
   * of the next one, so that a backoff takes no real time.
   */
  async run<Payload, Result>(
    task: TaskDefinition<Payload, Result>,
    input?: Payload,
    options?: SubmitOptions,
  ): Promise<Result> {
    await this.register(task)
    const { id } = await this.client.submit(task, input, options)
    for (;;) {
      await this.drain()
      const { done, ...seen } = await this.client.waitForTask({ task_id: id, wait_seconds: 0 })
      if (done) return this.client.result(await this.client.wait<Result>(id))
      if (isParked(seen.status)) {
        throw new Error(
          `The task is ${seen.status}. Create it with submit() and drain(), then use approve(), deny() or answer().`,
        )
      }
      if (seen.next_eligible_at === null) {
        throw new Error(
          `The task is ${seen.status} and no worker can run it. Pass the capabilities that it requires to testGate({ capabilities }).`,
        )
      }
      await this.#advanceTo(Date.parse(seen.next_eligible_at))
    }
  }

  /** Approves the request that a task waits for. `drain` then continues the task. */
  async approve(taskId: string, options: ApproveOptions = {}): Promise<void> {
    await this.gate.approve(APPROVER, { task_id: taskId, ...options })
  }

  /** Denies the request that a task waits for: the task is canceled. */
  async deny(taskId: string, reason = 'denied by the test'): Promise<void> {
    await this.gate.deny(APPROVER, { task_id: taskId, reason })
  }

  /** Answers the question that a task waits for. */
  async answer(taskId: string, content: unknown): Promise<void> {
    await this.gate.answerQuestion(OPERATOR, { task_id: taskId, content })
  }

  /** Runs the registered tasks until none of them is ready or running. Delayed tasks stay queued. */
  async drain(): Promise<void> {
    // One run at a time: a task may have been registered since the previous worker started.
    const work = this.#draining.then(() => this.#work())
    this.#draining = work.catch(() => {})
    await work
  }

  /** Moves the clock: delays, backoffs, leases and timeouts expire, each at its own time. */
  async advance(duration: Duration): Promise<void> {
    await this.#advanceTo(this.#clock.now + milliseconds(duration))
  }

  /** Resolves with the task when it has this status. Rejects if it ends with another one, or after 5 s of real time. */
  async waitFor(taskId: string, status: Status, { timeoutMs = WAIT_MS } = {}): Promise<Task> {
    let seen = await this.#operator.getTask({ task_id: taskId })
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#open.recheck()
    }, timeoutMs)
    try {
      await this.#open.until(async () => {
        seen = await this.#operator.getTask({ task_id: taskId })
        return isLate || seen.status === status || isTerminal(seen.status)
      })
    } finally {
      clearTimeout(timer)
    }
    if (seen.status === status) return seen
    const late = isLate ? ` after ${timeoutMs} ms` : ''
    throw new Error(`The task ${taskId} is ${seen.status}${late}, not ${status}.`)
  }

  /** Stops the gate and running tasks, and discards all data. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.kill()
    await this.#deps.server.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #work(): Promise<void> {
    const tasks = [...this.#tasks.values()]
    const types = new Set(this.#tasks.keys())
    const { capabilities, concurrency } = this.#deps
    const isQuiet = async () => !(await this.#open.isBusy(types, capabilities, this.#clock.now))
    if (tasks.length === 0 || (await isQuiet())) return
    const claims = new Claims(this.#open)
    const working = worker({
      url: this.url,
      fetch: claims.fetch,
      tasks,
      concurrency,
      capabilities,
      workerId: 'test-worker',
      // Whether a payload is refused must not depend on the tasks that have run before.
      publish: false,
      signals: false,
      logger: false,
    })
    this.#worker = working
    const stopped = working.run()
    // A worker that stops early must not leave the test waiting.
    const gaveUp = stopped.then(() => {
      if (!this.#isClosed) throw new Error('The worker stopped before the tasks were done.')
    })
    try {
      await Promise.race([this.#open.until(isQuiet), gaveUp])
    } finally {
      gaveUp.catch(() => {})
      working.stop()
      claims.end()
    }
    await stopped
  }

  async #advanceTo(time: number): Promise<void> {
    for (;;) {
      const next = await this.#open.nextTime(this.#clock.now)
      if (next === undefined || next > time) break
      this.#clock.moveTo(next)
      await this.gate.sweep()
    }
    this.#clock.moveTo(time)
    await this.gate.sweep()
  }
}
