import { expect, it } from 'vitest'
import { Authenticator, type AuthSettings } from '../../src/auth/credential.ts'
import type { Gate } from '../../src/features/gate.ts'
import { gateTools } from '../../src/mcp/tools/operation-tools.ts'
import { put } from '../support/fixtures.ts'
import { type Bench, describeGates } from '../support/gates.ts'
import { PROGRAM_LISTING } from '../support/program.ts'
import { createTask, KEY, members, type Served, serveGate, servers, textOf } from './support.ts'

const MODES: readonly (readonly [string, AuthSettings])[] = [
  ['insecure development', { api_key: null, allow_insecure_dev: true }],
  ['a shared key', { api_key: KEY, allow_insecure_dev: false }],
  [
    'a shared key and admin keys',
    { api_key: KEY, allow_insecure_dev: false, admin_keys: { ann: 'the-key-of-ann' } },
  ],
]

const POINTER = { result_pointer: 's3://results/1' }
const UNKNOWN = '00000000-0001-8abc-8def-0123456789ab'

type Fields = Readonly<Record<string, unknown>>
type Client = Pick<Served, 'post'>

async function taskIn({ store }: Bench, taskId: string | undefined) {
  const { tenant } = await store.tenant('default')
  return (await store.reads.task(tenant, taskId ?? ''))?.task
}

describeGates('leases that are identified by their id alone', (open, storeName) => {
  const serve = servers(open)

  /** Two servers that are used in turn on PostgreSQL; on SQLite the second opens after the first has closed. */
  const serveTwice = async (auth: AuthSettings) => {
    const first = await serve({ auth })
    const next = async () => {
      if (storeName === 'sqlite') await first.gate.close()
      const bench = await first.another()
      return { ...bench, ...withKey(await serveGate(bench.gate, { auth })) }
    }
    return { first: { ...first, ...withKey(first) }, next }
  }

  const withKey = ({ post }: Client): Client => ({
    post: (path, body) => post(path, body, { authorization: `Bearer ${KEY}` }),
  })

  const callTool = async (gate: Gate, auth: AuthSettings, name: string, args: Fields) => {
    const credential = await new Authenticator(auth).authenticate({ authorization: `Bearer ${KEY}` })
    const tools = gateTools({ gate, legacyTools: true, onError: (error) => expect(error).toBeUndefined() })
    const run = await tools.find(name, credential)
    if (typeof run !== 'function') throw new Error(`there is no tool ${name}`)
    return (await run(args, { credential, listing: PROGRAM_LISTING, signal: new AbortController().signal }))
      .structuredContent
  }

  it.each(MODES)('a heartbeat to another server renews the lease, with %s', async (_, auth) => {
    const { first, next } = await serveTwice(auth)
    const task_id = await createTask(first)
    const lease_id = textOf(await first.post('/lease', { worker_id: 'type.1' }), 'lease_id')
    const second = await next()
    const servers = storeName === 'sqlite' ? [second] : [second, first, second]
    for (const { post } of servers) {
      expect(await post(`/lease/${lease_id}/heartbeat`, {})).toMatchObject({
        status: 200,
        body: { status: 'ok', lease_id },
      })
    }
    const progress = { progress: { percent: 40 } }
    expect((await second.post(`/lease/${lease_id}/heartbeat`, progress)).status).toBe(200)
    expect(await taskIn(second, task_id)).toMatchObject({
      status: 'running',
      lease: { lease_id, holder: 'worker:type.1' },
    })
  })

  it.each(MODES)(
    'a run is completed and failed on another server by its run_id, with %s',
    async (_, auth) => {
      const { first, next } = await serveTwice(auth)
      const ids = [await createTask(first), await createTask(first, { max_attempts: 2 })]
      const runs = [
        await first.post('/worker/lease', { worker_id: 'w1', worker_kind: 'service' }),
        await first.post('/workers/lease_task', { worker_id: 'w2' }),
      ]
      const [service, worker] = runs.map((run) => ({ run_id: textOf(run, 'run_id') }))
      const second = await next()
      const { post } = second
      expect((await post('/worker/heartbeat', { ...service, progress_percent: 5 })).status).toBe(200)
      expect((await post('/workers/heartbeat', worker)).status).toBe(200)
      expect(await post('/worker/complete', { ...service, ...POINTER })).toMatchObject({ status: 200 })
      expect(await post('/worker/complete', { ...service, ...POINTER })).toMatchObject({ status: 200 })
      expect((await post('/worker/fail', { ...worker, error_message: 'x' })).body).toMatchObject({
        will_retry: true,
      })
      expect(await taskIn(second, ids[0])).toMatchObject({
        status: 'succeeded',
        lease: { holder: 'service:w1' },
      })
      expect(await taskIn(second, ids[1])).toMatchObject({ status: 'queued', attempt: 1 })
    },
  )

  it.each(MODES)('the worker tools of another server accept the run_id, with %s', async (_, auth) => {
    const { first, next } = await serveTwice(auth)
    await createTask(first)
    await createTask(first, { max_attempts: 2 })
    const lease = { worker_id: 'w1', task_types: ['job'] }
    const runs = [
      await callTool(first.gate, auth, 'worker_lease_task', { ...lease, worker_kind: 'service' }),
      await callTool(first.gate, auth, 'worker_lease_task', lease),
    ]
    const [one, two] = runs.map((run) => ({ run_id: members(run).run_id }))
    const { gate } = await next()
    const call = (name: string, args: Fields) => callTool(gate, auth, name, args)
    expect(await call('worker_heartbeat_task', { ...one, progress_percent: 5 })).toMatchObject({
      status: 'ok',
    })
    expect(await call('worker_complete_task', { ...one, ...POINTER })).toMatchObject({ status: 'completed' })
    expect(await call('worker_fail_task', { ...two, error_message: 'x' })).toMatchObject({ will_retry: true })
    expect(await call('worker_heartbeat_task', { run_id: UNKNOWN })).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    })
  })

  it('an unknown lease is 404, even if its task exists', async () => {
    const served = await serve()
    await createTask(served)
    const lease_id = textOf(await served.post('/lease', { worker_id: 'type.1' }), 'lease_id')
    const forged = `${lease_id.slice(0, 19)}${lease_id[19] === '8' ? '9' : '8'}${lease_id.slice(20)}`
    for (const id of [UNKNOWN, forged, 'x', '7b0c1f7e-64d8-4a3e-9a51-0a3a2f6c1b11']) {
      const missing = { status: 404, body: { error: 'lease_not_found', code: 'LEASE_NOT_FOUND' } }
      const answer = await served.post(`/lease/${id}/heartbeat`, {})
      expect(answer).toMatchObject(missing)
      expect(answer.body.details).toBeUndefined()
      expect(await served.post('/worker/heartbeat', { run_id: id })).toMatchObject(missing)
      expect(await served.post('/workers/complete', { run_id: id, ...POINTER })).toMatchObject(missing)
    }
    expect((await served.post(`/lease/${lease_id}/heartbeat`, {})).status).toBe(200)
  })

  it('a lease from before an upgrade is found by its task', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    await served.post('/worker/lease', { worker_id: 'w1', worker_kind: 'service' })
    const task = await taskIn(served, task_id)
    if (task?.status !== 'leased') return expect.unreachable()
    const run_id = '7b0c1f7e-64d8-4a3e-9a51-0a3a2f6c1b11'
    await put(served.store, task.tenant, {
      updated: [{ ...task, lease: { ...task.lease, lease_id: run_id } }],
    })
    expect(await served.post('/worker/heartbeat', { run_id })).toMatchObject({ status: 404 })
    expect(await served.post('/worker/heartbeat', { run_id, task_id: 'x' })).toMatchObject({ status: 404 })
    expect((await served.post('/worker/heartbeat', { run_id, task_id })).status).toBe(200)
    expect((await served.post('/worker/complete', { run_id, task_id, ...POINTER })).status).toBe(200)
  })

  it('a lease that has expired, was replaced, or whose task has ended is 409', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    const take = async (worker_id: string) => textOf(await served.post('/lease', { worker_id }), 'lease_id')
    const refused = async (lease_id: string, task_status: string) => {
      const over = { status: 409, body: { details: { task_id, task_status } } }
      expect(await served.post(`/lease/${lease_id}/heartbeat`, {})).toMatchObject(over)
      expect(await served.post('/worker/heartbeat', { run_id: lease_id })).toMatchObject({
        ...over,
        body: { ...over.body, error: 'lease_expired' },
      })
    }
    const first = await take('type.1')
    served.clock.advance(900)
    await refused(first, 'leased')
    await served.gate.sweep()
    await refused(first, 'queued')
    served.clock.advance(5)
    const second = await take('type.2')
    await refused(first, 'leased')
    await served.post(`/v1/tasks/${task_id}/cancel`, { principal_id: 'alice' })
    await refused(first, 'canceled')
    await refused(second, 'canceled')
  })

  it('a lease claimed with a personal key is invalid for the shared key', async () => {
    const [, , admins] = MODES
    const auth = admins?.[1] ?? { api_key: KEY, allow_insecure_dev: false }
    const served = await serve({ auth })
    const { post } = withKey(served)
    await createTask({ post })
    const own = { authorization: 'Bearer the-key-of-ann' }
    const run_id = textOf(await served.post('/worker/lease', { worker_id: 'w1' }, own), 'run_id')
    expect(await post('/worker/heartbeat', { run_id })).toMatchObject({ status: 409 })
    expect((await served.post('/worker/heartbeat', { run_id }, own)).status).toBe(200)
  })

  it('the run_id is required', async () => {
    const { post } = await serve()
    expect(await post('/worker/heartbeat', {})).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR', details: { path: 'run_id' } },
    })
  })
})
