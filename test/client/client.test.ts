import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Client,
  type ClientOptions,
  client,
  GateError,
  TaskCanceled,
  TaskFailed,
  WaitTimeout,
} from '../../src/client/index.ts'
import { ROUTES } from '../../src/client/operations.ts'
import { OPERATOR } from '../../src/core/principal.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { resultsOnDisk } from '../channels/store-on-disk.ts'
import { serveGate } from '../http/support.ts'
import { adminKey, authSettings, callerKey, suiteAuthMode } from '../support/auth-modes.ts'
import { admin } from '../support/gates.ts'
import { type Sent, sentOf } from './support.ts'

const MODE = suiteAuthMode()

let gate: Gate
let url: string
let alice: Client

let stored: ReturnType<typeof resultsOnDisk>

beforeEach(async () => {
  stored = resultsOnDisk()
  gate = openGate({ store: await openSqliteStore({ path: ':memory:' }), results: stored.results })
  const served = await serveGate(gate, { auth: authSettings(MODE), maxBodyBytes: 4 * 1024 * 1024 })
  url = served.url
  alice = connect({ agent: 'alice' })
})

afterEach(async () => {
  await gate.close()
  stored.folder.remove()
})

function connect(options: Partial<ClientOptions> = {}): Client {
  const principal = options.agent === undefined ? OPERATOR : { kind: 'agent' as const, id: options.agent }
  return client({ url, key: callerKey(MODE, principal, 'agent'), ...options })
}

/** A client with the key of worker w1. */
function asWorker(options: Partial<ClientOptions> = {}): Client {
  return connect({ key: callerKey(MODE, { kind: 'worker', id: 'w1' }, 'worker'), ...options })
}

/** A fetch that sends every call and then applies `then` to its response. */
function watched(then: (sent: Sent, nth: number) => void = () => {}) {
  const sent: Sent[] = []
  const through: typeof globalThis.fetch = async (input, init) => {
    const call = sentOf(input, init)
    sent.push(call)
    const response = await fetch(input, init)
    then(call, sent.length)
    return response
  }
  return { fetch: through, sent }
}

function loseAnswer(): never {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('lost'), { code: 'ECONNRESET' }) })
}

/** Claims the next task as worker w1. */
async function claim() {
  const { tasks } = await asWorker().leaseNext({ worker_id: 'w1', wait_seconds: 10 })
  const [offer] = tasks
  if (offer === undefined) throw new Error('there was no work')
  return { worker_id: 'w1', task_id: offer.task_id, lease_id: offer.lease_id }
}

async function succeed(result: unknown): Promise<void> {
  await asWorker().complete({ ...(await claim()), result, artifacts: [{ url: 'file:///x' }] })
}

const allTasks = async () => (await gate.listTasks(admin(), {})).tasks

describe('client methods', () => {
  it('the methods are the operations of the catalogue', () => {
    const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    expect(Object.keys(ROUTES)).toEqual(OPERATIONS.map(({ name }) => camel(name)))
    for (const name of Object.keys(ROUTES)) expect(Reflect.get(alice, name), name).toBeTypeOf('function')
  })

  it('ids are sent in the path, and other fields in the query or the body', async () => {
    const { fetch, sent } = watched()
    const mine = connect({ agent: 'alice', fetch })
    const { task_id } = await mine.createTask({ type: 'job', labels: { team: 'a' } })
    await mine.cancelTask({ task_id, reason: 'changed my mind' })
    const { tasks } = await mine.listTasks({ labels: { team: 'a' }, status: 'canceled' })
    expect(tasks.map((task) => task.task_id)).toEqual([task_id])
    expect(sent.map((call) => call.url.slice(url.length))).toEqual([
      '/v1/tasks',
      `/v1/tasks/${task_id}/cancel`,
      '/v1/tasks?agent_id=alice&label.team=a&status=canceled',
    ])
    expect(sent[1]?.body).toEqual({ agent_id: 'alice', reason: 'changed my mind' })
  })

  it('an id that would lead to another path is refused', async () => {
    for (const task_id of ['', '.', '..']) {
      expect(() => alice.getTask({ task_id })).toThrow('task_id: is not an id')
    }
    await expect(alice.getTask({ task_id: '../tasks' })).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  it('a refusal of the server throws GateError', async () => {
    await expect(alice.createTask({ type: '' })).rejects.toThrow(GateError)
  })

  it.skipIf(MODE === 'insecure development')('a wrong key throws UNAUTHENTICATED', async () => {
    await expect(connect({ key: 'another' }).listTasks()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe('identity of the caller', () => {
  it('calls are made as the agent of the client', async () => {
    const bob = connect({ agent: 'bob' })
    await alice.submit('job')
    await bob.submit('job')
    const owners = async (of: Client) => (await of.listTasks()).tasks.map((task) => task.created_by.id)
    expect(await owners(alice)).toEqual(['alice'])
    expect(await owners(bob)).toEqual(['bob'])
    expect(await owners(connect({ key: adminKey(MODE) }))).toHaveLength(2)
  })

  it('worker calls are made as the worker', async () => {
    const { fetch, sent } = watched()
    await alice.submit('job')
    await asWorker({ agent: 'alice', fetch }).leaseNext({ worker_id: 'w1' })
    expect(sent[0]?.body).toEqual({ worker_id: 'w1' })
    expect((await allTasks())[0]?.lease?.worker_id).toBe('w1')
  })
})

describe('lost responses', () => {
  it('submit never creates a task twice', async () => {
    const { fetch, sent } = watched((_, nth) => nth === 1 && loseAnswer())
    const { id, isDuplicate } = await connect({ agent: 'alice', fetch }).submit('job', { n: 1 })
    expect(isDuplicate).toBe(true)
    expect(sent).toHaveLength(2)
    expect((await allTasks()).map((task) => task.task_id)).toEqual([id])
  })

  it('createTasks never creates tasks twice and keeps the given keys', async () => {
    const { fetch, sent } = watched((_, nth) => nth === 1 && loseAnswer())
    const tasks = [{ type: 'job', idempotency_key: 'mine' }, { type: 'job' }, { type: 'job' }]
    const { results } = await connect({ agent: 'alice', fetch }).createTasks({ tasks })
    expect(results).toHaveLength(3)
    expect(sent).toHaveLength(2)
    const created = await allTasks()
    expect(created).toHaveLength(3)
    expect(created.filter((task) => task.idempotency_key === 'mine')).toHaveLength(1)
    expect(tasks[1]).toEqual({ type: 'job' })
  })

  it('retryTask never creates two tasks', async () => {
    const { id } = await alice.submit('job')
    await alice.cancelTask({ task_id: id })
    const { fetch, sent } = watched((_, nth) => nth === 1 && loseAnswer())
    const { task_id, is_duplicate } = await connect({ agent: 'alice', fetch }).retryTask({ task_id: id })
    expect(is_duplicate).toBe(true)
    expect(sent).toHaveLength(2)
    expect((await allTasks()).map((task) => task.task_id).sort()).toEqual([id, task_id].sort())
  })

  it('a call that must not be repeated throws', async () => {
    await alice.submit('job')
    const { fetch, sent } = watched(loseAnswer)
    const claiming = asWorker({ agent: 'alice', fetch }).leaseNext({ worker_id: 'w1' })
    await expect(claiming).rejects.toMatchObject({ code: 'UNREACHABLE', uncertain: true })
    expect(sent).toHaveLength(1)
  })
})

describe('wait', () => {
  it('wait resolves when the task has ended', async () => {
    const submitted = await alice.submit('add', { a: 1 })
    const waiting = submitted.wait()
    await succeed({ sum: 1 })
    expect(await waiting).toMatchObject({ status: 'succeeded', result: { result: { sum: 1 } } })
    expect(await waiting).not.toHaveProperty('done')
  })

  it('wait rejects with the reason of the signal', async () => {
    const { id } = await alice.submit('job')
    const stop = new AbortController()
    const why = new Error('enough')
    const { fetch } = watched()
    const waiting = connect({ agent: 'alice', fetch }).wait(id, { signal: stop.signal })
    const failed = expect(waiting).rejects.toBe(why)
    setTimeout(() => stop.abort(why), 20)
    await failed
    await expect(alice.wait(id, { signal: AbortSignal.abort(why) })).rejects.toBe(why)
  })

  it('wait times out while the task continues', async () => {
    const { id } = await alice.submit('job')
    const error: unknown = await alice.wait(id, { timeoutMs: 30 }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(WaitTimeout)
    expect(error).toMatchObject({ taskId: id, message: expect.stringContaining('within 30 ms') })
    expect((await alice.getTask({ task_id: id })).status).toBe('queued')
  })

  it.each([30, 300, 1300])(
    'a timeout of %i ms includes the last state of the task and limits the wait of each request',
    async (timeoutMs) => {
      const { id } = await alice.submit('job')
      const { fetch, sent } = watched()
      const waiting = connect({ agent: 'alice', fetch }).wait(id, { timeoutMs })
      await expect(waiting).rejects.toMatchObject({
        name: 'WaitTimeout',
        task: { task_id: id, status: 'queued' },
      })
      const asked = sent.map(({ url }) => Number(new URL(url).searchParams.get('wait_seconds') ?? 0))
      expect(Math.max(...asked)).toBeLessThanOrEqual(timeoutMs / 1000)
    },
  )

  it('a response after the timeout is followed by one more read, which may find the end', async () => {
    const { id } = await alice.submit('job')
    const deaf: typeof globalThis.fetch = async (input, init) => {
      if (!String(input).includes('/wait')) return fetch(input, init)
      await succeed('done')
      return new Promise((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      )
    }
    const task = await connect({ agent: 'alice', fetch: deaf }).wait(id, { timeoutMs: 300 })
    expect(task).toMatchObject({ status: 'succeeded', result: { result: 'done' } })
  })

  it('wait continues through an approval without a pause and reports it', async () => {
    const { id } = await alice.submit('job')
    const { fetch, sent } = watched()
    const seen: string[] = []
    let tell = () => {}
    const updated = new Promise<void>((resolve) => {
      tell = resolve
    })
    const waiting = connect({ agent: 'alice', fetch }).wait(id, {
      onUpdate: ({ status }) => {
        seen.push(status)
        tell()
      },
    })
    await asWorker().ask({ ...(await claim()), kind: 'approval', request: { title: 'Go on?' } })
    await updated
    await gate.approve(admin(), { task_id: id })
    await succeed('approved')
    expect(await waiting).toMatchObject({ status: 'succeeded' })
    expect(seen).toEqual(['pending_approval'])
    expect(sent.map(({ url }) => new URL(url).searchParams.get('until'))).toEqual(['rest', 'done'])
  })

  it('wait survives a temporary outage of the server', async () => {
    const { id } = await alice.submit('job')
    let asked = 0
    const flaky: typeof globalThis.fetch = async (input, init) => {
      asked += 1
      if (asked === 2) loseAnswer()
      // The server does not hold the request, so that the wait has to ask again.
      const answer = await fetch(String(input).replace('wait_seconds=25', 'wait_seconds=0'), init)
      if (asked === 1) await succeed('done')
      return answer
    }
    const task = await connect({ agent: 'alice', fetch: flaky, retry: false }).wait(id)
    expect(task.status).toBe('succeeded')
    expect(asked).toBe(3)
  })

  it('wait fails immediately if no server has ever responded', async () => {
    const nowhere = connect({ fetch: async () => loseAnswer(), retry: false })
    await expect(nowhere.wait('0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c')).rejects.toMatchObject({
      code: 'UNREACHABLE',
    })
  })

  it('wait reports an unknown task', async () => {
    await expect(alice.wait('0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c')).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
  })
})

describe('run', () => {
  it('run returns the result', async () => {
    const running = alice.run<{ sum: number }>('add', { a: 1, b: 2 }, { labels: { team: 'a' } })
    await succeed({ sum: 3 })
    const { sum } = await running
    expect(sum).toBe(3)
    expect((await allTasks())[0]).toMatchObject({ payload: { a: 1, b: 2 }, labels: { team: 'a' } })
  })

  it('run throws a failure with its task', async () => {
    const running = alice.run('add').catch((reason: unknown) => reason)
    await asWorker().fail({
      ...(await claim()),
      error: { code: 'NO_PAGE', message: 'there is no such page' },
    })
    const error = await running
    expect(error).toBeInstanceOf(TaskFailed)
    expect(error).toMatchObject({
      message: expect.stringMatching(/\(add\) has failed: there is no such page$/),
      task: { status: 'failed', result: { error: { code: 'NO_PAGE' } } },
    })
  })

  it('result throws if the task was canceled', async () => {
    const submitted = await alice.submit('add')
    const result = submitted.result()
    const failed = expect(result).rejects.toThrow(TaskCanceled)
    expect(await submitted.cancel('no longer needed')).toEqual({ ok: true, status: 'canceled' })
    await failed
  })
})

describe('iterators', () => {
  it('pages are fetched only as far as they are read', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.unshift((await alice.submit('job', { n })).id)
    const { fetch, sent } = watched()
    const mine = connect({ agent: 'alice', fetch })

    const all: string[] = []
    for await (const task of mine.tasks({ limit: 2 })) all.push(task.task_id)
    expect(all).toEqual(ids)
    expect(sent.length).toBeGreaterThanOrEqual(3)

    sent.length = 0
    for await (const task of mine.tasks({ limit: 2 })) if (task.task_id === ids[1]) break
    expect(sent).toHaveLength(1)
  })

  it('receipts and obligations continue from page to page', async () => {
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await alice.submit('job')).id)
    await succeed('done')

    const owed: (string | null)[] = []
    for await (const receipt of alice.obligations({ limit: 1 })) owed.push(receipt.task_id)
    expect(owed).toEqual(ids.slice(1))

    const types: string[] = []
    for await (const receipt of alice.receipts({ task_id: ids[0], limit: 1 }))
      types.push(receipt.receipt_type)
    expect(types).toEqual(
      (await gate.listReceipts(admin(), { task_id: ids[0] })).receipts.map((r) => r.receipt_type),
    )
    expect(types.length).toBeGreaterThan(1)
  })
})

describe('events', () => {
  it("events yields the changes of the caller's tasks until the loop ends", async () => {
    const seen: string[] = []
    let opened = () => {}
    const isOpen = new Promise<void>((resolve) => {
      opened = resolve
    })
    const listening = (async () => {
      for await (const change of alice.events({}, { onOpen: () => opened() })) {
        seen.push(`${change.type} ${change.status}`)
        if (change.status === 'succeeded') break
      }
    })()
    await isOpen
    await connect({ agent: 'bob' }).createTask({ type: 'others', delay_seconds: 60 })
    await alice.submit('job')
    await succeed('done')
    await listening
    expect(seen).toEqual(['job queued', 'job leased', 'job succeeded'])
  })
})

describe('results in a channel', () => {
  /** Creates a task and completes it. */
  async function done(report: object) {
    const submitted = await alice.submit('job')
    const worker = asWorker()
    const { tasks } = await worker.leaseNext({ worker_id: 'w1' })
    const { task_id = '', lease_id = '' } = tasks[0] ?? {}
    await worker.complete({ worker_id: 'w1', task_id, lease_id, result: null, ...report })
    return submitted
  }

  it('a JSON result is fetched', async () => {
    const result = { text: 'x'.repeat(1_100_000) }
    const submitted = await done({ result })
    expect(stored.blobs()).toHaveLength(1)
    expect(await submitted.result()).toEqual(result)
    expect(await alice.result(await submitted.wait())).toEqual(result)
  })

  it('another media type is returned as a pointer', async () => {
    const pointer = { channel: 'blob', pointer: 'blob:main/0', media_type: 'image/png' }
    const submitted = await done({ result: pointer, artifacts: [pointer] })
    expect(await submitted.result()).toEqual(pointer)
  })
})

describe('cancelAll', () => {
  const create = (count: number, session_id: string) =>
    alice.createTasks({ tasks: Array.from({ length: count }, () => ({ type: 'job', session_id })) })

  it('cancelAll cancels all matching tasks and reports the count', async () => {
    for (let i = 0; i < 3; i++) await create(800, 's')
    await create(2, 'other')
    const counts: number[] = []
    const onCount = (count: number) => counts.push(count)
    expect(await alice.cancelAll({ session_id: 's', reason: 'enough' }, { onCount })).toEqual({
      count: 2400,
      skipped: 0,
    })
    expect(counts).toEqual([1000, 2000, 2400])
    expect(await alice.cancelAll({ all: true })).toEqual({ count: 2, skipped: 0 })
  })

  it('cancelAll stops when its signal is aborted', async () => {
    for (let i = 0; i < 3; i++) await create(1000, 's')
    const stopping = new AbortController()
    const onCount = () => stopping.abort(new Error('that will do'))
    await expect(alice.cancelAll({ session_id: 's' }, { onCount, signal: stopping.signal })).rejects.toThrow(
      'that will do',
    )
    expect(await alice.cancelAll({ session_id: 's' })).toMatchObject({ count: 2000 })
  })
})
