import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { resultsOnDisk } from '../../channels/store-on-disk.ts'
import { admin, agent, type Bench, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  claim,
  failTask,
  finish,
  held,
  hold,
  lease,
  look,
  only,
  override,
  refusal,
} from '../../support/steps.ts'

const SECRET = 'the diary of Alice'
const ALICE = { kind: 'agent', id: 'alice' }

async function erase(gate: Gate, who: object = ALICE) {
  await gate.erasePrincipal(admin(), who)
  return gate.getErasure(admin(), { ...who, wait_seconds: 50 })
}

/** Every record of an export. */
async function exported(gate: Gate, who: object = ALICE, limit = 50) {
  const records: Readonly<Record<string, unknown>>[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await gate.exportPrincipal(admin(), { ...who, limit, ...(cursor && { cursor }) })
    records.push(...page.records)
    cursor = page.next_cursor
  }
  return records
}

/** Tasks of Alice in every state, each with her secret in every place that takes a text. */
async function fill(gate: Gate): Promise<void> {
  const input = { payload: { text: SECRET }, labels: { note: SECRET }, summary: SECRET, body: SECRET }
  const done = await hold(gate, input)
  await gate.reportProgress(worker(), { ...held(done), progress: { message: SECRET } })
  await gate.appendLogs(worker(), { ...held(done), lines: [{ level: 'info', text: SECRET }] })
  await finish(gate, done, { result: { text: SECRET } })
  await failTask(gate, await hold(gate, input), { error: { message: SECRET }, retryable: false })
  const asking = await hold(gate, input)
  await gate.ask(worker(), { ...held(asking), kind: 'approval', request: { title: SECRET } })
  await gate.deny(admin(), { task_id: asking.task_id, reason: SECRET })
  const waiting = await hold(gate, input)
  await gate.ask(worker(), { ...held(waiting), kind: 'input', request: { message: SECRET } })
  await hold(gate, input)
  const queued = await ask(gate, input)
  await gate.cancelTask(agent(), { task_id: queued.task_id, reason: SECRET })
  await ask(gate, input)
}

/** Everything that the database contains, as far as operations return it to an admin. */
async function everything(gate: Gate): Promise<string> {
  const { tasks } = await gate.listTasks(admin(), { limit: 200 })
  const found: unknown[] = [tasks, await gate.listApprovals(admin(), {})]
  for (const { task_id } of tasks) {
    found.push(await look(gate, { task_id }), await gate.listLogs(admin(), { task_id }))
    found.push(await gate.getTaskProgress(admin(), { task_id }))
  }
  return JSON.stringify(found)
}

async function ledger({ store }: Bench) {
  const { tenant } = await store.tenant('default')
  return store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 10_000)
}

describeGates('privacy', (open) => {
  it('erasure leaves nothing of what a principal wrote, and keeps every receipt', async () => {
    const bench = await open()
    const { gate } = bench
    await fill(gate)
    expect(await everything(gate)).toContain(SECRET)
    const before = await ledger(bench)
    expect(await erase(gate)).toMatchObject({
      principal: 'agent:alice',
      state: 'done',
      tasks: 7,
      requested_by: 'human:root',
      finished_at: expect.any(String),
    })
    expect(await everything(gate)).not.toContain(SECRET)
    const after = await ledger(bench)
    expect(JSON.stringify(after)).not.toContain(SECRET)
    expect(after.slice(0, before.length).map(({ body: _, erased: __, ...rest }) => rest)).toEqual(
      before.map(({ body: _, ...rest }) => rest),
    )
    expect(bench.errors).toEqual([])
  })

  it('erased receipts count for the quota and the usage of receipt bytes with what is left of them', async () => {
    const bench = await open()
    const { gate, store } = bench
    await failTask(gate, await hold(gate), { error: { message: SECRET.repeat(100) }, retryable: false })
    const { tenant } = await store.tenant('default')
    const counted = async () => (await store.reads.counters(tenant)).receipt_bytes
    const stored = async () =>
      (await ledger(bench)).reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
    const before = await counted()
    const billed = async () => {
      await gate.usage.flush()
      return (await gate.getUsage(admin(), {})).receipt_bytes
    }
    expect(before).toBe(await stored())
    expect(await billed()).toBe(before)
    await erase(gate)
    expect(await counted()).toBe(await stored())
    expect(await billed()).toBe(await counted())
    expect(before - (await counted())).toBeGreaterThan(SECRET.length * 50)
    await erase(gate)
    expect(await counted()).toBe(await stored())
  })

  it('open tasks of an erased principal are canceled, and keep no lease', async () => {
    const { gate } = await open()
    await fill(gate)
    await erase(gate)
    const { tasks } = await gate.listTasks(admin(), { limit: 200 })
    expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['succeeded', 'failed', 'canceled']))
    expect(await claim(gate)).toEqual([])
  })

  it('erasure leaves the data of other principals as it was', async () => {
    const { gate } = await open()
    const task = await ask(gate, { payload: { text: 'of Bob' } }, agent('bob'))
    await finish(gate, await lease(gate), { result: 'for Bob' })
    const before = await look(gate, task)
    await fill(gate)
    await erase(gate)
    expect(await look(gate, task)).toEqual(before)
    const { receipts } = await gate.listReceipts(agent('bob'), {})
    expect(receipts.every(({ hash }) => hash !== null)).toBe(true)
  })

  it('erasure of a worker erases its receipts and not the tasks of others', async () => {
    const bench = await open()
    const { gate } = bench
    const offer = await hold(gate, { payload: { text: 'of Alice' } })
    await finish(gate, offer, { result: 'for Alice' })
    expect(await erase(gate, { kind: 'worker', id: 'w1' })).toMatchObject({ state: 'done', tasks: 0 })
    expect(await look(gate, offer)).toMatchObject({
      payload: { text: 'of Alice' },
      result: { result: 'for Alice' },
    })
    const ofWorker = (await ledger(bench)).filter(({ from }) => from === 'worker:w1')
    expect(ofWorker.length).toBeGreaterThan(1)
    expect(ofWorker.every(({ erased }) => erased)).toBe(true)
  })

  it('keys of an erased principal are revoked and lose their names', async () => {
    const { gate } = await open()
    const { key_id } = await gate.createKey(admin(), {
      principal: ALICE,
      role: 'agent',
      name: 'phone of Alice',
    })
    const other = await gate.createKey(admin(), { principal: { kind: 'agent', id: 'bob' }, role: 'agent' })
    expect(await erase(gate)).toMatchObject({ keys: 1 })
    expect(await gate.getKey(admin(), { key_id })).toMatchObject({ state: 'revoked', name: null })
    expect(await gate.getKey(admin(), { key_id: other.key_id })).toMatchObject({ state: 'active' })
  })

  it('access tokens of an erased principal are revoked, also those that it granted for agents', async () => {
    const { gate } = await open()
    const { tenant } = await gate.tenant('default')
    const grant = (kind: 'agent' | 'human', person: string) =>
      gate.oauth.grants.create(tenant, {
        tenant: 'default',
        person,
        key_id: null,
        identity: null,
        principal: { kind, id: person },
        client_id: 'c',
        client_name: 'an application',
        expires_at: Date.now() + 60_000,
      })
    const [own, forAgent, other] = [
      await grant('human', 'ann'),
      await grant('agent', 'ann'),
      await grant('agent', 'bob'),
    ]
    await erase(gate, { kind: 'human', id: 'ann' })
    expect(await gate.oauth.grants.find(own.grant_id)).toBeUndefined()
    expect(await gate.oauth.grants.find(forAgent.grant_id)).toBeUndefined()
    expect(await gate.oauth.grants.find(other.grant_id)).toBeDefined()
  })

  it('results in channels are removed', async () => {
    const { results, folder } = resultsOnDisk()
    const { gate } = await open({ results })
    await gate.registerTaskType(admin(), { type: 'report', result_channel: 'file' })
    const offer = await hold(gate, { type: 'report' })
    await finish(gate, offer, { result: { text: SECRET }, artifacts: undefined })
    const stored = () => folder.files().filter((name) => name.startsWith('files/'))
    expect(stored()).toHaveLength(1)
    await erase(gate)
    expect(stored()).toEqual([])
    expect(await look(gate, offer)).toMatchObject({ result: { result: { erased_at: expect.any(String) } } })
    folder.remove()
  })

  it('an erasure that was interrupted is continued when nobody works on it', async () => {
    let isDown = false
    const { gate, clock } = await open({
      wrap: (store) => {
        const erased: string[] = []
        const task: typeof store.erasure.task = async (...given) => {
          if (isDown || erased.push(given[0].task_id) === 55) {
            isDown = true
            throw new Error('the server was killed')
          }
          return store.erasure.task(...given)
        }
        return override(store, { erasure: { ...store.erasure, task } })
      },
    })
    for (let n = 0; n < 60; n++) await ask(gate, { payload: { text: SECRET } })
    await gate.erasePrincipal(admin(), ALICE)
    await gate.settled()
    expect(await gate.getErasure(admin(), ALICE)).toMatchObject({ state: 'running', tasks: 50 })
    isDown = false
    await gate.sweepErasures()
    expect(await gate.getErasure(admin(), ALICE)).toMatchObject({ state: 'running' })
    clock.advance(61)
    await gate.sweepErasures()
    expect(await gate.getErasure(admin(), ALICE)).toMatchObject({ state: 'done', tasks: 60 })
    expect(await everything(gate)).not.toContain(SECRET)
  })

  it('a repeated request returns the running erasure, and a later one erases what is new', async () => {
    const { gate } = await open()
    await ask(gate, { payload: { text: SECRET } })
    const [one, two] = await Promise.all([
      gate.erasePrincipal(admin(), ALICE),
      gate.erasePrincipal(admin(), ALICE),
    ])
    expect(one.requested_at).toBe(two.requested_at)
    await gate.settled()
    await ask(gate, { payload: { text: SECRET } })
    expect(await erase(gate)).toMatchObject({ state: 'done', tasks: 2 })
    expect(await everything(gate)).not.toContain(SECRET)
  })

  it('admins can erase neither themselves nor the server nor a principal of another tenant', async () => {
    const { gate } = await open()
    await ask(gate, { payload: { text: SECRET } })
    for (const who of [
      { kind: 'human', id: 'root' },
      { kind: 'service', id: 'asyncgate' },
    ]) {
      expect(await refusal(gate.erasePrincipal(admin(), who))).toMatchObject({ code: 'FORBIDDEN' })
    }
    await gate.erasePrincipal(caller('human', 'eve', 'admin', 'other'), ALICE)
    await gate.settled()
    expect(await everything(gate)).toContain(SECRET)
    expect(await refusal(gate.getErasure(admin(), ALICE))).toMatchObject({ code: 'ERASURE_NOT_FOUND' })
  })

  it('an export contains everything about a principal and nothing about others', async () => {
    const { gate } = await open()
    await ask(gate, { payload: { text: 'of Bob' } }, agent('bob'))
    await finish(gate, await lease(gate), { result: 'for Bob' })
    await fill(gate)
    await gate.createKey(admin(), { principal: ALICE, role: 'agent', name: 'phone of Alice' })
    await gate.createKey(admin(), { principal: { kind: 'agent', id: 'bob' }, role: 'agent', name: 'of Bob' })
    const records = await exported(gate)
    const ofKind = (name: string) => records.filter(({ kind }) => kind === name)
    expect(ofKind('task')).toHaveLength(7)
    expect(only(ofKind('key'))).toMatchObject({ key: { name: 'phone of Alice' } })
    const done = ofKind('task').find(({ task }) => JSON.stringify(task).includes('"succeeded"'))
    expect(done).toMatchObject({
      task: { payload: { text: SECRET }, result: { result: { text: SECRET } } },
      log: [{ text: SECRET }],
      progress: [{ message: SECRET }],
    })
    expect(ofKind('receipt').length).toBeGreaterThan(20)
    for (const { receipt } of ofKind('receipt')) expect(JSON.stringify(receipt)).toContain('"alice"')
    expect(JSON.stringify(records)).not.toContain('Bob')
    expect(JSON.stringify(records)).not.toContain('argon2')
  })

  it('an export in small pages contains the same records', async () => {
    const { gate } = await open()
    await fill(gate)
    expect(await exported(gate, ALICE, 1)).toEqual(await exported(gate, ALICE, 200))
  })

  it('exports and erasures are recorded in the audit log', async () => {
    const { gate } = await open()
    await gate.exportPrincipal(admin(), ALICE)
    await erase(gate)
    const { events } = await gate.listAudit(admin(), {})
    expect(events.map(({ event, severity }) => [event, severity])).toEqual([
      ['principal_erased', 'critical'],
      ['principal_exported', 'warning'],
    ])
  })
})
