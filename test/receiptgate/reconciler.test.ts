import { expect, it } from 'vitest'
import { receiptId } from '../../src/core/ids.ts'
import { receiptGateClient } from '../../src/receiptgate/client.ts'
import { Reconciler } from '../../src/receiptgate/reconciler.ts'
import { admin, agent, type Bench, caller, describeGates, type Open, worker } from '../support/gates.ts'
import { type ReceiptGate, startReceiptGate } from '../support/receiptgate.ts'
import {
  ask,
  at,
  expire,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  refusal,
} from '../support/steps.ts'
import { expectAgreement, senderOn } from './sending.ts'

type Fields = Readonly<Record<string, unknown>>

const INTERVAL_MS = 60_000

/** A gate whose sender looks for completions, and a ReceiptGate to which workers write. */
async function setUp(open: Open, profile: '1.0' | '1.1' = '1.0', options: Parameters<Open>[0] = {}) {
  const bench = await open(options)
  const remote = await startReceiptGate(profile)
  return { bench, gate: bench.gate, remote, ...(await reconcilingOn(bench, remote, profile)) }
}

async function reconcilingOn(
  bench: Bench,
  remote: ReceiptGate,
  profile: '1.0' | '1.1' = '1.0',
  holder = 'a',
) {
  const { store, gate } = bench
  const tenant = await store.tenant('default')
  const target = { profile, tenantId: 'default' }
  const client = receiptGateClient({ url: `${remote.url}/mcp`, token: remote.key, timeoutMs: 20_000 })
  const reconciler = new Reconciler({
    ...{ store, tenant, client, target, intervalMs: INTERVAL_MS },
    reconcile: (completion) => gate.reconcileTask('default', completion),
    report: (anomaly) => gate.reportLedgerAnomaly('default', anomaly),
  })
  const sending = await senderOn(bench, remote, { profile, reconciler, holder })
  const next = async () => {
    bench.clock.advance(INTERVAL_MS / 1000)
    await sending.sweep()
  }
  return { ...sending, next, target, salt: tenant.salt }
}

/** What a worker writes to ReceiptGate itself, derived from the accepted receipt of the task. */
function completion(remote: ReceiptGate, taskId: string, fields: Fields = {}): Record<string, unknown> {
  const accepted = at(
    remote.stored.filter(({ task_id, phase }) => task_id === taskId && phase === 'accepted'),
    0,
  )
  return {
    ...accepted,
    receipt_id: `r-${taskId}`,
    ...{ phase: 'complete', status: 'success', source_system: 'worker.w1', from_principal: 'w1' },
    ...{ completed_at: '2026-01-01T00:00:00Z', outcome_kind: 'response_text', outcome_text: 'Done' },
    body: { result: { n: 7 } },
    ...fields,
  }
}

const completionAnomalies = async ({ gate }: Pick<Bench, 'gate'>) =>
  (await gate.listReceipts(caller('service', 'operator', 'agent'), { limit: 200 })).receipts.flatMap(
    ({ receipt_type, body }) => {
      const { kind, details } = Object(body)
      return receipt_type === 'system.anomaly' && kind === 'receipt_completion_ignored' ? [details] : []
    },
  )

describeGates('completions in ReceiptGate', (open) => {
  it.each(['1.0', '1.1'] as const)(
    'profile %s: a completion that a worker has written there ends its task, once',
    async (profile) => {
      const { bench, gate, remote, sweep, next, target } = await setUp(open, profile)
      const offer = await hold(gate)
      const other = await hold(gate)
      await sweep()
      remote.submit(completion(remote, offer.task_id))
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded', result: { result: { n: 7 } } })
      expect(await look(gate, other)).toMatchObject({ status: 'leased' })
      expect(await openTasks(gate)).toEqual([other.task_id])
      const ended = await receiptsOf(gate, offer)
      expect(ended.find(({ receipt_type }) => receipt_type === 'task.completed')).toMatchObject({
        ...{ from: { kind: 'worker', id: 'w1' }, lease_id: null },
        body: {
          artifacts: [{ type: 'receiptgate', pointer: `r-${offer.task_id}` }],
          completion_metadata: { receiptgate_receipt_id: `r-${offer.task_id}` },
          result_summary: 'Done',
        },
      })
      await next()
      await next()
      expect(await receiptsOf(gate, offer)).toHaveLength(ended.length)
      // ReceiptGate has the completion already, so AsyncGate sends none.
      expect(remote.phasesOf(offer.task_id)).toEqual(['accepted', 'complete'])
      expect(await completionAnomalies(bench)).toEqual([])
      await expectAgreement(bench, remote, target)
    },
  )

  it.each([
    ['failure', 'FAILED_IN_RECEIPTGATE', 'no luck', 'no luck'],
    ['canceled', 'CANCELED_IN_RECEIPTGATE', 'NA', 'The worker has ended the task'],
  ])('the status %s fails the task', async (status, code, outcome_text, message) => {
    const { bench, gate, remote, sweep, next } = await setUp(open)
    const offer = await hold(gate)
    await sweep()
    remote.submit(completion(remote, offer.task_id, { status, outcome_text }))
    await next()
    expect(await look(gate, offer)).toMatchObject({
      ...{ status: 'failed', result: { error: { code, message: expect.stringContaining(message) } } },
    })
    await expectAgreement(bench, remote)
  })

  it('a late completion of a worker that has lost its lease counts, and the worker that holds it now is refused', async () => {
    const { bench, gate, remote, sweep, next } = await setUp(open)
    const offer = await hold(gate)
    await sweep()
    await expire(gate, bench.clock)
    const again = await lease(gate, { lease_ttl_seconds: 600 }, worker('w2'))
    const queued = await hold(gate)
    await sweep()
    await expire(gate, bench.clock)
    expect(await look(gate, queued)).toMatchObject({ status: 'queued' })
    remote.submit(completion(remote, offer.task_id))
    remote.submit(completion(remote, queued.task_id))
    await next()
    expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
    expect(await look(gate, queued)).toMatchObject({ status: 'succeeded' })
    const late = { ...held(again, 'w2'), result: { n: 8 }, artifacts: [{ url: 'https://x.example/1' }] }
    expect(await refusal(gate.complete(worker('w2'), late))).toMatchObject({ code: 'RESULT_CONFLICT' })
    await expectAgreement(bench, remote)
  })

  it.each<[string, Fields, string]>([
    ['another worker', { for_principal: 'mallory' }, 'for_principal'],
    ['asyncgate as its source', { source_system: 'asyncgate' }, 'asyncgate'],
    ['another tenant', { tenant_id: 'acme' }, 'tenant'],
    ['an unknown status', { status: 'NA' }, 'status'],
    [
      'too many artifacts',
      { artifact_refs: Array.from({ length: 200 }, () => ({ url: 'x:1' })) },
      'artifacts',
    ],
    ['a result that is too deep', { body: { result: deep(100) } }, 'deep'],
  ])('a completion with %s is ignored and reported once', async (_, fields, reason) => {
    const { bench, gate, remote, sweep, next } = await setUp(open)
    const offer = await hold(gate, {}, { lease_ttl_seconds: 1000 })
    await sweep()
    const foreign = completion(remote, offer.task_id, fields)
    // ReceiptGate would refuse some of them; this server does not rely on that.
    remote.stored.push({ ...foreign, receipt_id: 'foreign', task_id: offer.task_id, phase: 'complete' })
    await next()
    await next()
    expect(await look(gate, offer)).toMatchObject({ status: 'leased' })
    expect(await completionAnomalies(bench)).toEqual([
      { receipt_id: 'foreign', task_id: offer.task_id, reason: expect.stringContaining(reason) },
    ])
    await finish(gate, offer)
  })

  it('in 1.1 a completion must name the obligation of its task', async () => {
    const { bench, gate, remote, sweep, next, salt } = await setUp(open, '1.1')
    const offer = await hold(gate, {}, { lease_ttl_seconds: 1000 })
    await sweep()
    const foreign = completion(remote, offer.task_id, { obligation_id: receiptId(salt, 999) })
    remote.stored.push({ ...foreign, receipt_id: 'foreign', task_id: offer.task_id, phase: 'complete' })
    await next()
    expect(await look(gate, offer)).toMatchObject({ status: 'leased' })
    expect(await completionAnomalies(bench)).toMatchObject([{ reason: 'it names another obligation' }])
  })
})

function deep(levels: number): unknown {
  return levels === 0 ? 1 : [deep(levels - 1)]
}

describeGates(
  'looking for completions',
  (open) => {
    it('a stranger that writes many receipts causes one anomaly, and the completion of the worker still counts', async () => {
      const { bench, gate, remote, sweep, next } = await setUp(open)
      const offer = await hold(gate, {}, { lease_ttl_seconds: 1000 })
      await sweep()
      for (let n = 0; n < 50; n++) {
        const receipt_id = `\u001b[31m${n}`
        remote.submit(completion(remote, offer.task_id, { receipt_id, for_principal: 'mallory' }))
      }
      await next()
      await next()
      expect(await completionAnomalies(bench)).toMatchObject([{ receipt_id: '0' }])
      remote.submit(completion(remote, offer.task_id))
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
    })

    it('a task that waits for a decision is not ended past it', async () => {
      const { bench, gate, remote, sweep, next } = await setUp(open)
      const offer = await hold(gate)
      await sweep()
      const request = { title: 'Delete it?' }
      const { n } = await gate.ask(worker(), { ...held(offer), kind: 'approval', request })
      remote.submit(completion(remote, offer.task_id))
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'pending_approval' })
      expect(await completionAnomalies(bench)).toEqual([])
      await gate.approve(admin(), { task_id: offer.task_id, n })
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
    })

    it('results are redacted as those that workers report here', async () => {
      const { gate, remote, sweep, next } = await setUp(open)
      const redact = { targets: 'result', patterns: ['email'] }
      await gate.putPolicy(admin(), { id: 'mail', action: 'REDACT', redact })
      const offer = await hold(gate)
      await sweep()
      remote.submit(
        completion(remote, offer.task_id, {
          outcome_text: 'by ann@x.example',
          body: { result: { to: 'bob@x.example' } },
        }),
      )
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
      expect(JSON.stringify(await receiptsOf(gate, offer))).not.toContain('@x.example')
    })

    it('one pass makes at most 20 requests, and the next one continues', async () => {
      const { gate, remote, sweep, next } = await setUp(open)
      for (let n = 0; n < 25; n++) await ask(gate)
      const { tasks } = await gate.leaseNext(worker(), {
        ...{ worker_id: 'w1', max_tasks: 100, lease_ttl_seconds: 1000 },
      })
      await ask(gate, { delay_seconds: 3600 })
      await sweep()
      for (const { task_id } of tasks) remote.submit(completion(remote, task_id))
      const ended = async () => {
        const found = await Promise.all(tasks.map((task) => look(gate, task)))
        return found.filter(({ status }) => status === 'succeeded').length
      }
      remote.lists = 0
      await next()
      expect([remote.lists, await ended()]).toEqual([20, 20])
      await sweep()
      expect(await ended()).toBe(20)
      await next()
      expect([remote.lists, await ended()]).toEqual([25, 25])
    })

    it('no request is made while ReceiptGate asks for a pause or the circuit breaker is open', async () => {
      const { bench, gate, remote, sweep, next } = await setUp(open)
      const offer = await hold(gate, {}, { lease_ttl_seconds: 1800 })
      await sweep()
      remote.submit(completion(remote, offer.task_id))
      remote.faults = [{ kind: 'status', status: 429, retryAfter: 100 }]
      await next()
      remote.lists = 0
      await next()
      expect([remote.lists, (await look(gate, offer)).status]).toEqual([0, 'leased'])
      await next()
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
      const second = await hold(gate, {}, { lease_ttl_seconds: 1800 })
      await sweep()
      remote.standing = { kind: 'status', status: 500 }
      for (let n = 0; n < 5; n++) await next()
      remote.lists = 0
      await sweep()
      bench.clock.advance(30)
      await sweep()
      expect(remote.lists).toBe(0)
      remote.standing = undefined
      remote.submit(completion(remote, second.task_id))
      await next()
      expect(await look(gate, second)).toMatchObject({ status: 'succeeded' })
    })

    it('tasks of other tenants are not looked for', async () => {
      const { gate, remote, next } = await setUp(open)
      await gate.createTask(agent('bob', 'acme'), { type: 'job' })
      await lease(gate, {}, worker('w1', 'acme'))
      await next()
      expect(remote.lists).toBe(0)
    })
  },
  ['sqlite'],
)

// An SQLite database has one server only.
describeGates(
  'completions in ReceiptGate and two servers',
  (open) => {
    it('a task ends once although both look for completions', async () => {
      const { bench, gate, remote, sweep } = await setUp(open)
      const second = await bench.another()
      const other = await reconcilingOn(second, remote, '1.0', 'b')
      const offer = await hold(gate)
      await sweep()
      remote.submit(completion(remote, offer.task_id))
      bench.clock.advance(60)
      await Promise.all([sweep(), other.sweep()])
      const ends = (await receiptsOf(gate, offer)).filter(
        ({ receipt_type }) => receipt_type === 'task.completed',
      )
      expect(ends).toHaveLength(1)
      await expectAgreement(bench, remote)
    })
  },
  ['postgres'],
)
