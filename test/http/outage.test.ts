import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { checkInvariants } from '../support/invariants.ts'
import { postgresUrl } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres-process.ts'
import { ARTIFACTS, soon } from '../support/steps.ts'
import { type Answer, listOf, type Served, serveGate, textOf } from './support.ts'

/** An outage lasts until this many requests have been refused. */
const OUTAGES = [100, 1000]
const CALLERS = 16
/** Clients retry sooner than Retry-After says, so that there are more responses to check. */
const PAUSE_MS = 20

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

type Members = Readonly<Record<string, unknown>>

interface Call {
  readonly path: string
  readonly sent: number
  readonly answered: number
  readonly answer: Answer
}

/** Callers that create, claim and complete until they are stopped, and repeat requests that were not acknowledged. */
class Load {
  readonly calls: Call[] = []
  readonly created: string[] = []
  readonly completed: string[] = []
  readonly #served: Pick<Served, 'post'>
  readonly #callers: Promise<void>[]
  #stopped = false

  constructor(served: Pick<Served, 'post'>) {
    this.#served = served
    this.#callers = Array.from({ length: CALLERS }, (_, i) => this.#call(`caller${i}`))
  }

  get refused(): Call[] {
    return this.calls.filter(({ answer }) => answer.status !== 200)
  }

  /** Resolves when this many more tasks have been completed. */
  completes(count: number): Promise<void> {
    const enough = this.completed.length + count
    return this.#until(() => this.completed.length >= enough)
  }

  /** Resolves when this many more requests have been refused. */
  isRefused(count: number): Promise<void> {
    const enough = this.refused.length + count
    return this.#until(() => this.refused.length >= enough)
  }

  async finish(): Promise<void> {
    this.#stopped = true
    await soon(Promise.all(this.#callers), 20)
  }

  async #until(condition: () => boolean): Promise<void> {
    const reached = vi.waitUntil(condition, { timeout: 30_000, interval: 5 })
    await Promise.race([reached, ...this.#callers])
  }

  async #call(name: string): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const work = { type: 'job', principal_id: name, idempotency_key: `round ${n}`, payload: { n } }
      this.created.push(textOf(await this.#insist('/v1/tasks', work), 'task_id'))
      const claimed = await this.#insist('/v1/leases/claim', { worker_id: name, accept_types: ['job'] })
      for (const { task_id, lease_id } of listOf(claimed, 'tasks')) {
        const report = { worker_id: name, lease_id, result: task_id, artifacts: ARTIFACTS }
        await this.#insist(`/v1/tasks/${task_id}/complete`, report)
        this.completed.push(String(task_id))
      }
    }
  }

  async #insist(path: string, body: Members): Promise<Answer> {
    for (;;) {
      const sent = performance.now()
      const answer = await this.#served.post(path, body)
      this.calls.push({ path, sent, answered: performance.now(), answer })
      if (answer.status === 200) return answer
      if (answer.status !== 503) throw new Error(`${path} was answered with ${answer.status}: ${answer.text}`)
      await delay(PAUSE_MS)
    }
  }
}

describe.skipIf(!postgresUrl())('a server whose PostgreSQL is stopped and started under load', () => {
  it('the server responds with 503 meanwhile, recovers soon after, and loses no acknowledged request', {
    timeout: 90_000,
  }, async () => {
    const postgres = await startPostgres({ settings: { shared_buffers: '64MB', max_connections: 40 } })
    cleanups.push(() => postgres.remove())
    const store = await openPostgresStore({ url: postgres.url })
    const gate = openGate({ store })
    const served = await serveGate(gate)
    cleanups.push(() => gate.close())
    const ready = () => served.get('/health/ready')

    const load = new Load(served)
    const waited = waitForWork(served)
    // A rejection matters only if the test gets that far.
    waited.catch(() => {})
    const readyAfter: number[] = []
    for (const refusals of OUTAGES) {
      await load.completes(100)
      expect((await ready()).status).toBe(200)
      await postgres.stop('immediate')
      const down = performance.now()
      await load.isRefused(refusals)
      expect(await ready()).toMatchObject({
        status: 503,
        body: { status: 'unhealthy', checks: { database: 'failing' } },
      })
      expect((await served.get('/health/live')).status).toBe(200)
      const up = performance.now()
      const meanwhile = load.calls.filter(({ sent, answered }) => sent > down && answered < up)
      expect(meanwhile.length).toBeGreaterThan(CALLERS)
      expect(meanwhile.filter(({ answer }) => answer.status !== 503)).toEqual([])

      await postgres.start()
      const started = performance.now()
      await vi.waitFor(async () => expect((await ready()).status).toBe(200), {
        timeout: 15_000,
        interval: 20,
      })
      readyAfter.push(performance.now() - started)
    }
    await load.completes(100)
    await load.finish()

    for (const { answer } of load.refused) {
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      const { error } = answer.body
      expect(answer.body).toEqual({
        error: expect.stringMatching(/^(database_unavailable|outcome_unknown)$/),
        code: String(error).toUpperCase(),
        message: expect.any(String),
        hint: expect.any(String),
        retryable: true,
        request_id: answer.headers['x-request-id'],
      })
    }
    const slowest = Math.max(...load.calls.map(({ sent, answered }) => answered - sent))
    expect(slowest).toBeLessThan(10_000)

    // A request that waited during the outages is still answered.
    const late = await served.post('/v1/tasks', { type: 'late', principal_id: 'caller0' })
    expect(await soon(waited)).toBe(textOf(late, 'task_id'))

    const stored = await allTasks(served)
    const jobs = stored.filter((task) => task.type === 'job')
    // Each exactly once, regardless of repeated requests.
    expect(jobs.map((task) => task.task_id).toSorted()).toEqual(load.created.toSorted())
    const succeeded = jobs.filter(({ status }) => status === 'succeeded').map((task) => task.task_id)
    const lost = load.completed.filter((task_id) => !new Set(succeeded).has(task_id))
    expect(lost).toEqual([])
    expect(succeeded.length).toBe(load.completed.length)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
    console.log(
      `${OUTAGES.length} outages of PostgreSQL under ${CALLERS} callers: ${load.calls.length} requests, ` +
        `503 ${JSON.stringify(tally(load.refused))}, the slowest took ${Math.round(slowest)} ms; ` +
        `ready ${readyAfter.map(Math.round).join(' and ')} ms after the start; ` +
        `${load.created.length} creates and ${load.completed.length} completions acknowledged, ${lost.length} lost`,
    )
  })
})

/** A worker that waits for a task of a rare type, and retries when it is refused. Resolves with the task. */
async function waitForWork({ post }: Pick<Served, 'post'>): Promise<unknown> {
  for (;;) {
    const answer = await post('/v1/leases/claim', {
      worker_id: 'patient',
      accept_types: ['late'],
      wait_seconds: 50,
    })
    if (answer.status === 503) await delay(PAUSE_MS)
    else if (answer.status !== 200) return answer.text
    else for (const { task_id } of listOf(answer, 'tasks')) return task_id
  }
}

async function allTasks({ get }: Pick<Served, 'get'>): Promise<Members[]> {
  const tasks: Members[] = []
  for (let cursor: unknown; cursor !== null; ) {
    const page = await get('/v1/tasks', { limit: 200, ...(cursor !== undefined && { cursor }) })
    tasks.push(...listOf(page, 'tasks'))
    cursor = page.body.next_cursor
  }
  return tasks
}

function tally(calls: readonly Call[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { answer } of calls) {
    const error = String(answer.body.error)
    counts[error] = (counts[error] ?? 0) + 1
  }
  return counts
}
