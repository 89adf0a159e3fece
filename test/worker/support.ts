import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach } from 'vitest'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { type TaskDefinition, type Worker, type WorkerOptions, worker } from '../../src/worker/index.ts'
import { members, type ServeOptions, serveGate } from '../http/support.ts'
import { callerKey, suiteAuthMode } from '../support/auth-modes.ts'
import { agent } from '../support/gates.ts'
import { look, soon } from '../support/steps.ts'

type Members = ReturnType<typeof members>

/** One request of a worker, as the network saw it. */
export interface Sent {
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Members
  readonly at: number
}

type Rule = (sent: Sent, go: () => Promise<Response>) => Promise<Response> | undefined

/** A network with faults chosen by the test: the first rule that handles a request decides. */
export class Network {
  readonly sent: Sent[] = []
  readonly #rules = new Set<Rule>()
  #watchers: (() => void)[] = []

  readonly fetch = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    const body = typeof init.body === 'string' ? members(JSON.parse(init.body)) : {}
    const sent: Sent = { path: url.pathname, query: url.searchParams, body, at: performance.now() }
    this.sent.push(sent)
    for (const watcher of this.#watchers.splice(0)) watcher()
    const go = () => fetch(input, init)
    for (const rule of this.#rules) {
      const answer = rule(sent, go)
      if (answer !== undefined) return answer
    }
    return go()
  }

  /**
   * Applies a rule to the next requests to this path, up to the given count. Returns a function that removes the
   * rule.
   */
  next(path: RegExp, answer: (go: () => Promise<Response>, sent: Sent) => Promise<Response>, count = 1) {
    let left = count
    const rule: Rule = (sent, go) => {
      if (left === 0 || !path.test(sent.path)) return undefined
      left--
      return answer(go, sent)
    }
    this.#rules.add(rule)
    return () => this.#rules.delete(rule)
  }

  /** The server processes the request, and its response is lost. */
  loseAnswers(path: RegExp, count = 1) {
    return this.next(path, (go) => go().then(() => unreachable()), count)
  }

  /** Requests do not arrive. */
  cut(path: RegExp = /./) {
    return this.next(path, unreachable, Number.POSITIVE_INFINITY)
  }

  /** Adds fields to responses. */
  add(path: RegExp, fields: object, count = 1) {
    return this.next(
      path,
      async (go) => {
        const response = await go()
        const body: unknown = await response.json()
        return Response.json({ ...members(body), ...fields }, { status: response.status })
      },
      count,
    )
  }

  to(path: RegExp): Sent[] {
    return this.sent.filter((sent) => path.test(sent.path))
  }

  /** Resolves when n requests have been sent to this path. */
  async until(path: RegExp, count: number): Promise<Sent[]> {
    while (this.to(path).length < count) {
      await soon(new Promise<void>((resolve) => this.#watchers.push(resolve)))
    }
    return this.to(path)
  }
}

function unreachable(): Promise<never> {
  return Promise.reject(new TypeError('fetch failed', { cause: new Error('the test cut the line') }))
}

/** The items of all batch requests to a path. */
export function itemsOf(sent: readonly Pick<Sent, 'body'>[]): Members[] {
  return sent.flatMap(({ body }) => (Array.isArray(body.items) ? body.items.map(members) : []))
}

export const CLAIM = /\/leases\/claim$/
export const RENEW = /\/renew_many$/
export const COMPLETE = /\/tasks\/complete$/
export const FAIL = /\/fail$/
export const RELEASE = /\/release$/
export const PROGRESS = /\/progress$/
export const CANCELLATION = /\/cancellation$/
export const EVENTS = /\/events$/

type Served = { readonly gate: Gate } & Awaited<ReturnType<typeof serveGate>>

export interface Bench extends Served {
  readonly network: Network
  /** Starts a worker over the network of the test. It is stopped when the test ends. */
  start(tasks: readonly TaskDefinition[], options?: Partial<WorkerOptions>): Worker
  /** Creates a worker for the test to run. */
  worker(tasks: readonly TaskDefinition[], options?: Partial<WorkerOptions>): Worker
  /** Creates a task of alice. */
  ask(type: string, payload?: unknown, more?: object): Promise<string>
  status(taskId: string): Promise<string>
  /** Waits for the task to end and returns it. */
  end(taskId: string): ReturnType<typeof look>
}

/**
 * Workers on a server with the real clock, one server for each test: the claim of a killed worker could lease a task of
 * the next test.
 */
export function workerBench(): (options?: ServeOptions) => Promise<Bench> {
  const workers: Worker[] = []
  const servers: Served[] = []
  const closing: Promise<void>[] = []
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()))
    // A server gives its connections time to become idle, while the next test runs.
    closing.push(...servers.splice(0).map(({ gate }) => gate.close()))
  })
  afterAll(() => Promise.all(closing))

  return async (options = {}) => {
    const served = await serve(options)
    servers.push(served)
    const network = new Network()
    const ask = async (type: string, payload: unknown = {}, more: object = {}) => {
      const { task_id } = await served.gate.createTask(agent(), { type, payload, ...more })
      return task_id
    }
    const make: Bench['worker'] = (tasks, more = {}) => {
      const { url } = served
      const base = {
        url,
        tasks,
        fetch: network.fetch,
        logger: false,
        signals: false,
        workerId: 'w1',
        // Tests share a server, and use one type with different schemas.
        publish: false,
        ...(options.auth === undefined && {
          key: callerKey(suiteAuthMode(), { kind: 'worker', id: more.workerId ?? 'w1' }, 'worker'),
        }),
      } as const
      const made = worker({ ...base, ...more })
      workers.push(made)
      return made
    }
    const start: Bench['start'] = (tasks, more) => {
      const started = make(tasks, more)
      started.run()
      return started
    }
    const end = (task_id: string) => soon(untilEnded(served.gate, task_id), 20)
    const status = async (task_id: string) => (await look(served.gate, { task_id })).status
    return { ...served, network, start, worker: make, ask, end, status }
  }
}

async function serve(options: ServeOptions): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-worker-'))
  const store = await openSqliteStore({ path: join(folder, 'gate.db') })
  const settings = { lease_sweep_interval_seconds: 1, ...options.settings }
  const gate = openGate({ store, settings })
  const closeGate = gate.close
  gate.close = async () => {
    await closeGate()
    rmSync(folder, { recursive: true, force: true })
  }
  return { gate, ...(await serveGate(gate, options)) }
}

async function untilEnded(gate: Gate, task_id: string) {
  for (;;) {
    const task = await look(gate, { task_id })
    if (task.result !== undefined) return task
    await delay(10)
  }
}

/** Resolves when the condition holds; polls every few milliseconds. */
export async function eventually(condition: () => boolean | Promise<boolean>, seconds = 10): Promise<void> {
  const end = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > end)
      throw new Error(`the condition did not hold within ${seconds} s: ${condition}`)
    await delay(5)
  }
}

/** Rejects when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** A promise that the test resolves. */
export class Deferred<T = void> {
  resolve: (value: T) => void = () => {}
  readonly promise = new Promise<T>((resolve) => {
    this.resolve = resolve
  })
}
