import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Role } from '../../src/core/principal.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { admin, describeGates, type Open } from '../support/gates.ts'
import { listOf, type Served, servers, textOf } from './support.ts'

/** Only issued keys are accepted. */
const CLOSED = { api_key: null, allow_insecure_dev: false }

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

interface Wanted {
  readonly principal?: string
  readonly role?: Role
  readonly tenant?: string
  readonly scopes?: readonly string[]
  readonly capabilities?: readonly string[]
  readonly expires_at?: string
}

function issue(gate: Gate, { principal = 'agent:alice', role = 'agent', tenant, ...rest }: Wanted = {}) {
  const [kind, id] = principal.split(':')
  return gate.createKey(admin(tenant), { principal: { kind, id }, role, ...rest })
}

/** Calls of one principal with its key. */
async function caller(served: Served, wanted: Wanted = {}) {
  const { key, key_id } = await issue(served.gate, wanted)
  return {
    key,
    key_id,
    get: (path: string) => served.send('GET', path, undefined, bearer(key)),
    post: (path: string, body: object = {}) => served.send('POST', path, body, bearer(key)),
  }
}

const TASK = { type: 'job' }

/** A gate as another process has it, such as the command line beside a server. */
async function otherProcess({ file, another }: Served): Promise<Gate> {
  if (file === undefined) return (await another({ realTime: true })).gate
  const gate = openGate({ store: await openSqliteStore({ path: file, besideServer: true }), sweeping: false })
  onTestFinished(() => gate.close())
  return gate
}

describeGates('issued keys', (open: Open, storeName) => {
  const serve = servers(open)
  const start = () => serve({ auth: CLOSED, realTime: true })

  it('a request with a key comes from the principal of the key', async () => {
    const served = await start()
    const alice = await caller(served)
    const created = await alice.post('/v1/tasks', TASK)
    const { body } = await alice.get(`/v1/tasks/${textOf(created, 'task_id')}`)
    expect(body.created_by).toEqual({ kind: 'agent', id: 'alice' })
    expect(await alice.post('/v1/tasks', { ...TASK, principal_id: 'bob' })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('agent:alice') },
    })
  })

  it.each([
    ['no key', {}],
    ['a text that is no key', bearer('x')],
    ['a key with a wrong checksum', bearer(`aga_${'0'.repeat(52)}`)],
  ])('%s is refused', async (_, headers) => {
    const served = await start()
    expect(await served.send('GET', '/v1/tasks', undefined, headers)).toMatchObject({
      status: 401,
      body: { code: 'UNAUTHENTICATED' },
    })
  })

  it('each role may do what the permissions say', async () => {
    const served = await start()
    const alice = await caller(served)
    const task = `/v1/tasks/${textOf(await alice.post('/v1/tasks', TASK), 'task_id')}`
    const worker = await caller(served, { principal: 'worker:w1', role: 'worker' })
    expect(await worker.post('/v1/tasks', TASK)).toMatchObject({
      status: 403,
      body: { details: { required_role: 'agent', your_role: 'worker' } },
    })
    expect(await alice.post('/v1/leases/claim', { worker_id: 'w' })).toMatchObject({ status: 403 })
    expect(worker.key).toMatch(/^agw_/)

    const viewer = await caller(served, { principal: 'human:vera', role: 'viewer' })
    expect(await viewer.get(task)).toMatchObject({ status: 200 })
    expect(await viewer.get('/v1/policies')).toMatchObject({ status: 200 })
    expect(await viewer.post(`${task}/cancel`)).toMatchObject({ status: 403 })
    expect(await viewer.post('/v1/tasks', TASK)).toMatchObject({ status: 403 })
    expect(await viewer.get('/v1/keys')).toMatchObject({ status: 403 })

    const operator = await caller(served, { principal: 'human:olga', role: 'operator' })
    expect(await operator.post(`${task}/cancel`)).toMatchObject({ status: 200 })
    expect(await operator.post('/v1/workers/w1/drain', { drain: true })).not.toMatchObject({ status: 403 })
    expect(await operator.get('/v1/keys')).toMatchObject({ status: 403 })
    expect(await operator.post('/v1/policies', { id: 'x', action: 'BLOCK' })).toMatchObject({ status: 403 })
  })

  it('scopes limit a key further than its role', async () => {
    const served = await start()
    const reader = await caller(served, { scopes: ['tasks:read'] })
    expect(await reader.get('/v1/tasks')).toMatchObject({ status: 200 })
    expect(await reader.post('/v1/tasks', TASK)).toMatchObject({
      status: 403,
      body: { details: { required_scope: 'tasks:write', your_scopes: ['tasks:read'] } },
    })
    const root = await caller(served, { principal: 'human:root', role: 'admin', scopes: ['admin:read'] })
    expect(await root.get('/v1/keys')).toMatchObject({ status: 200 })
    expect(
      await root.post('/v1/keys', { principal: { kind: 'agent', id: 'x' }, role: 'agent' }),
    ).toMatchObject({
      status: 403,
      body: { details: { required_scope: 'admin:write' } },
    })
  })

  it('a worker claims only with the capabilities of its key', async () => {
    const served = await start()
    const wanted = { principal: 'worker:w1', role: 'worker', capabilities: ['pdf'] } as const
    const worker = await caller(served, wanted)
    const claim = (capabilities: string[]) =>
      worker.post('/v1/leases/claim', { worker_id: 'w1', capabilities })
    expect(await claim(['pdf'])).toMatchObject({ status: 200 })
    expect(await claim(['pdf', 'gpu'])).toMatchObject({
      status: 403,
      body: { details: { capability: 'gpu', your_capabilities: ['pdf'] } },
    })
  })

  it('a revoked key is refused soon, also by other servers, and its waiting requests end', async () => {
    const served = await start()
    const second = await otherProcess(served)
    const worker = await caller(served, { principal: 'worker:w1', role: 'worker' })
    const claim = { worker_id: 'w1', wait_seconds: 30 }
    expect(await worker.post('/v1/leases/claim', { worker_id: 'w1' })).toMatchObject({ status: 200 })
    const waiting = worker.post('/v1/leases/claim', claim).then(
      ({ status }) => status,
      () => 'disconnected',
    )
    await expect.poll(async () => (await served.gate.stats()).waiting_claims, { timeout: 10_000 }).toBe(1)
    await second.revokeKey(admin(), { key_id: worker.key_id })
    const claimAgain = async () => (await worker.post('/v1/leases/claim', { worker_id: 'w1' })).status
    await expect.poll(claimAgain, { timeout: 10_000 }).toBe(401)
    expect(await waiting).toBe('disconnected')
  })

  it('an expired key is refused', async () => {
    const served = await start()
    const alice = await caller(served, { expires_at: new Date(Date.now() + 60_000).toISOString() })
    expect(await alice.get('/v1/tasks')).toMatchObject({ status: 200 })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await alice.get('/v1/tasks')).toMatchObject({ status: 401 })
    const { state } = await served.gate.getKey(admin(), { key_id: alice.key_id })
    expect(state).toBe('expired')
  })

  it('a rotated key stays valid for the overlap, and its replacement has the same limits', async () => {
    const served = await start()
    const alice = await caller(served, { scopes: ['tasks:read'] })
    expect(await alice.get('/v1/tasks')).toMatchObject({ status: 200 })
    const rotated = await served.gate.rotateKey(admin(), { key_id: alice.key_id, overlap_seconds: 60 })
    expect(rotated).toMatchObject({ principal: { kind: 'agent', id: 'alice' }, scopes: ['tasks:read'] })
    for (const key of [alice.key, rotated.key]) {
      expect(await served.send('GET', '/v1/tasks', undefined, bearer(key))).toMatchObject({ status: 200 })
    }
    const old = await served.gate.getKey(admin(), { key_id: alice.key_id })
    expect(old).toMatchObject({ state: 'active', replaced_by: rotated.key_id })
    expect(Date.parse(old.expires_at ?? '')).toBeLessThanOrEqual(Date.now() + 60_000)

    await served.gate.rotateKey(admin(), { key_id: rotated.key_id, overlap_seconds: 0 })
    await expect
      .poll(async () => (await served.send('GET', '/v1/tasks', undefined, bearer(rotated.key))).status)
      .toBe(401)
    await expect(served.gate.rotateKey(admin(), { key_id: rotated.key_id })).rejects.toMatchObject({
      code: 'KEY_NOT_ACTIVE',
    })
  })

  it('a key belongs to its tenant: objects of other tenants do not exist for it', async () => {
    const served = await start()
    const alice = await caller(served)
    const mallory = await caller(served, { tenant: 'other', principal: 'human:m', role: 'admin' })
    const task_id = textOf(await alice.post('/v1/tasks', TASK), 'task_id')
    expect(await mallory.get(`/v1/tasks/${task_id}`)).toMatchObject({ status: 404 })
    expect(listOf(await mallory.get('/v1/tasks'), 'tasks')).toEqual([])
    expect(await mallory.get(`/v1/keys/${alice.key_id}`)).toMatchObject({ status: 404 })
    expect(await mallory.post(`/v1/keys/${alice.key_id}/revoke`)).toMatchObject({ status: 404 })
    expect(await mallory.get('/v1/tasks?tenant_id=default')).toMatchObject({ status: 403 })
    expect(await mallory.get('/metrics')).toMatchObject({ status: 403 })
  })

  it('the secret of a key is shown once and not stored', async () => {
    const served = await start()
    const root = await caller(served, { principal: 'human:root', role: 'admin' })
    const secret = root.key.slice(-38)
    const texts = await Promise.all(
      [root.get('/v1/keys'), root.get(`/v1/keys/${root.key_id}`)].map(async (answer) => (await answer).text),
    )
    for (const text of texts) {
      expect(text).toContain(root.key_id)
      expect(text).not.toContain(secret)
      expect(text).not.toContain('argon2')
    }
    if (served.file !== undefined) {
      const stored = ['', '-wal'].map((suffix) => readFileSync(`${served.file}${suffix}`, 'latin1')).join('')
      expect(stored).toContain('argon2id$v=19$m=65536,t=2,p=1$')
      expect(stored).not.toContain(secret.slice(0, 32))
    }
  })

  it('the time of the last use is recorded', async () => {
    const served = await start()
    const alice = await caller(served)
    const lastUse = async () => (await served.gate.getKey(admin(), { key_id: alice.key_id })).last_used_at
    expect(await lastUse()).toBeNull()
    await alice.get('/v1/tasks')
    await expect.poll(lastUse).not.toBeNull()
  })

  it('only a person with their own key creates keys', async () => {
    const served = await start()
    const wanted = { principal: { kind: 'agent', id: 'new' }, role: 'agent' }
    const service = await caller(served, { principal: 'service:deploy', role: 'admin' })
    expect(await service.post('/v1/keys', wanted)).toMatchObject({ status: 403 })
    const root = await caller(served, { principal: 'human:root', role: 'admin' })
    const created = await root.post('/v1/keys', wanted)
    expect(created).toMatchObject({ status: 200, body: { created_by: 'human:root', tenant_id: 'default' } })
    const key = textOf(created, 'key')
    expect(await served.send('GET', '/v1/tasks', undefined, bearer(key))).toMatchObject({ status: 200 })
  })

  it.each([
    [{ principal: { kind: 'worker', id: 'w' }, role: 'agent' }, 'role'],
    [{ principal: { kind: 'agent', id: 'a' }, role: 'worker' }, 'role'],
    [{ principal: { kind: 'agent', id: 'a' }, role: 'system' }, 'role'],
    [{ principal: { kind: 'agent', id: 'a' }, role: 'agent', scopes: ['admin:read'] }, 'scopes'],
    [{ principal: { kind: 'human', id: 'a' }, role: 'admin', scopes: ['tasks:read'] }, 'scopes'],
    [{ principal: { kind: 'agent', id: 'a' }, role: 'agent', capabilities: ['x'] }, 'capabilities'],
    [
      { principal: { kind: 'agent', id: 'a' }, role: 'agent', expires_at: '2020-01-01T00:00:00Z' },
      'expires_at',
    ],
  ])('%j is refused', async (input, path) => {
    const { gate } = await open()
    await expect(gate.createKey(admin(), input)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path },
    })
  })

  it('no key has the name of a part of AsyncGate', async () => {
    const { gate } = await open()
    const input = { principal: { kind: 'service', id: 'asyncgate' }, role: 'agent' }
    await expect(gate.createKey(admin(), input)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  it('an admin creates the key of a worker over the worker port', async () => {
    const served = await start()
    const root = await caller(served, { principal: 'human:root', role: 'admin' })
    const created = await root.post('/admin/workers/create_key', { worker_id: 'w9', capabilities: ['pdf'] })
    expect(created).toMatchObject({ status: 200, body: { worker_id: 'w9' } })
    const key = textOf(created, 'api_key')
    const claim = { worker_id: 'w9', capabilities: ['pdf'] }
    expect(await served.send('POST', '/v1/leases/claim', claim, bearer(key))).toMatchObject({ status: 200 })
    expect(await root.post('/admin/workers/create_key', {})).toMatchObject({ status: 400 })
  })

  it(`keys are listed in pages on ${storeName}`, async () => {
    const { gate } = await open()
    const ids = new Set<string>()
    for (let i = 0; i < 3; i++) ids.add((await issue(gate, { principal: `agent:a${i}` })).key_id)
    const first = await gate.listKeys(admin(), { limit: 2 })
    const second = await gate.listKeys(admin(), { limit: 2, cursor: first.next_cursor })
    expect(new Set([...first.keys, ...second.keys].map(({ key_id }) => key_id))).toEqual(ids)
    expect(second.next_cursor).toBeNull()
  })
})
