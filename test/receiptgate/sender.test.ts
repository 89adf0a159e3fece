import { expect, it } from 'vitest'
import { agent, type Bench, caller, describeGates, type Open } from '../support/gates.ts'
import { type Fault, type ReceiptGate, startReceiptGate } from '../support/receiptgate.ts'
import { ask, at, failTask, finish, hold, override } from '../support/steps.ts'
import { runDecidedLifecycles } from './decided-lifecycles.ts'
import { runLifecycles } from './lifecycles.ts'
import { expectAgreement, senderOn } from './sending.ts'

const ESCALATING = { settings: { escalation_enabled: true, escalation_target: 'agent:ops' } } as const

/** Completes this many tasks, which gives two receipts for each. */
async function complete({ gate }: Bench, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const offer = await hold(gate)
    await finish(gate, offer)
    ids.push(offer.task_id)
  }
  return ids
}

/** Each receipt was stored once, and the receipts of each task in their order. */
function expectComplete(remote: ReceiptGate, ids: readonly string[]): void {
  for (const id of ids) expect(remote.phasesOf(id)).toEqual(['accepted', 'complete'])
  expect(remote.stored).toHaveLength(2 * ids.length)
  const texts = new Map<string, string>()
  for (const { receipt_id, text } of remote.submissions) {
    expect(texts.get(receipt_id) ?? text).toBe(text)
    texts.set(receipt_id, text)
  }
}

const outbox = async ({ store }: Bench) => {
  const { tenant } = await store.tenant('default')
  return store.outbox.counts(tenant, 1000)
}

const EMPTY = { pending: 0, set_aside: 0 }

describeGates('sending receipts to ReceiptGate', (open) => {
  it.each(['1.0', '1.1'] as const)(
    'profile %s: ReceiptGate accepts the receipts of every kind of task',
    async (profile) => {
      const bench = await open(ESCALATING)
      const remote = await startReceiptGate(profile)
      const tasks = await runLifecycles(bench)
      const { sweep, anomalies } = await senderOn(bench, remote, { profile })
      await sweep()
      expect(anomalies).toEqual([])
      expect(new Set(remote.submissions.map(({ outcome }) => outcome))).toEqual(new Set(['stored']))
      const phases = Object.entries(tasks).map(([name, { task_id }]) => [name, remote.phasesOf(task_id)])
      const isOld = profile === '1.0'
      expect(Object.fromEntries(phases)).toEqual({
        succeeded: ['accepted', 'complete'],
        large: ['accepted', 'complete'],
        unlocated: ['accepted'],
        repaired: ['accepted', 'complete'],
        canceled: isOld ? ['complete'] : [],
        canceledLater: ['accepted', 'complete'],
        failed: ['accepted', 'complete'],
        exhausted: ['accepted', 'escalate', 'complete'],
        released: ['accepted', 'complete'],
        progressing: ['accepted', 'complete'],
        expired: isOld
          ? ['accepted', 'escalate', 'accepted', 'complete']
          : ['accepted', 'escalate', 'complete'],
        lost: ['accepted', 'escalate', 'complete'],
        open: ['accepted'],
      })
      expect(await outbox(bench)).toEqual(EMPTY)
    },
  )

  it.each([
    ['1.0', false],
    ['1.0', true],
    ['1.1', false],
  ] as const)(
    'profile %s, assignments forwarded: %s: questions, deadlines, schedules and cancellations are accepted too',
    async (profile, forwardsAssigned) => {
      const bench = await open(ESCALATING)
      const remote = await startReceiptGate(profile)
      const expected = await runDecidedLifecycles(bench)
      const { sweep, anomalies } = await senderOn(bench, remote, { profile, forwardsAssigned })
      await sweep()
      expect(anomalies).toEqual([])
      const wanted = (phases: readonly string[]) => {
        if (forwardsAssigned) return ['accepted', ...phases]
        // In 1.1 a task that no worker has claimed has no obligation.
        return profile === '1.1' && phases[0] !== 'accepted' ? [] : phases
      }
      for (const [name, [{ task_id }, phases]] of Object.entries(expected)) {
        expect(remote.phasesOf(task_id), name).toEqual(wanted(phases))
      }
      await expectAgreement(bench, remote, { profile, tenantId: 'default', forwardsAssigned })
    },
  )

  it('the target that the class of a task chooses is the recipient of its escalation', async () => {
    const targets = [{ class: 3, to: 'human:ann' }] as const
    const bench = await open({ settings: { ...ESCALATING.settings, escalation_targets: targets } })
    const remote = await startReceiptGate('1.1')
    const offer = await hold(bench.gate, { escalation_class: 3, max_attempts: 1 })
    await failTask(bench.gate, offer, { retryable: true })
    const { sweep } = await senderOn(bench, remote, { profile: '1.1' })
    await sweep()
    expect(remote.stored).toMatchObject([
      { phase: 'accepted' },
      { phase: 'escalate', escalation_to: 'ann', recipient_ai: 'ann', escalation_class: 'policy' },
      { phase: 'complete', from_principal: 'ann' },
    ])
  })

  it('a receipt is sent once, and what comes later too', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    const { sweep } = await senderOn(bench, remote)
    const ids = await complete(bench, 2)
    await sweep()
    await sweep()
    ids.push(...(await complete(bench, 1)))
    await sweep()
    expect(remote.submissions).toHaveLength(6)
    expectComplete(remote, ids)
  })

  it('another sender takes over from one that died between sending and recording', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    const ids = await complete(bench, 2)
    const { outbox } = bench.store
    const dying = override(bench.store, {
      outbox: new Proxy(outbox, {
        get: (rows, name) =>
          name === 'remove' ? () => Promise.reject(new Error('killed')) : Reflect.get(rows, name),
      }),
    })
    const first = await senderOn({ ...bench, store: dying }, remote)
    await expect(first.sweep()).rejects.toThrow('killed')
    const second = await senderOn(bench, remote, { holder: 'b' })
    await second.sweep()
    bench.clock.advance(31)
    await second.sweep()
    expect(remote.submissions.map(({ outcome }) => outcome)).toEqual([
      'stored',
      'replay',
      'stored',
      'stored',
      'stored',
    ])
    expectComplete(remote, ids)
  })
})

const describeFaults = (open: Open): void => {
  const FAULTS: readonly (readonly [string, Fault])[] = [
    ['responds with 500', { kind: 'status', status: 500 }],
    ['stores a receipt and drops the connection', { kind: 'drop_after_storing' }],
    ['stores a receipt and reports an error', { kind: 'error_after_storing' }],
    ['asks for a pause', { kind: 'status', status: 429, retryAfter: 30 }],
    ['is slow', { kind: 'delay', ms: 300 }],
  ]
  it.each(FAULTS)('each receipt arrives once and in order if ReceiptGate %s', async (_, fault) => {
    const bench = await open()
    const remote = await startReceiptGate()
    const ids = await complete(bench, 3)
    const { sweep, anomalies } = await senderOn(bench, remote)
    remote.faults = [fault, fault]
    for (let n = 0; n < 5; n++) {
      await sweep()
      bench.clock.advance(30)
    }
    expectComplete(remote, ids)
    expect(anomalies).toEqual([])
    expect(await outbox(bench)).toEqual(EMPTY)
    await expectAgreement(bench, remote)
  })

  it('receipts wait while ReceiptGate is down, however long, and none is set aside', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    const ids = await complete(bench, 7)
    const { sweep } = await senderOn(bench, remote)
    await remote.stop()
    for (let n = 0; n < 12; n++) {
      await sweep()
      bench.clock.advance(60)
    }
    expect(await outbox(bench)).toEqual({ pending: 14, set_aside: 0 })
    await remote.start()
    for (let n = 0; n < 3; n++) {
      await sweep()
      bench.clock.advance(60)
    }
    expectComplete(remote, ids)
    await expectAgreement(bench, remote)
  })

  it('a receipt that fails again and again is set aside after ten attempts and holds up its task only', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    const poison = await hold(bench.gate)
    await finish(bench.gate, poison)
    const ids: string[] = []
    const { sweep, anomalies } = await senderOn(bench, remote)
    for (let n = 0; n < 10; n++) {
      ids.push(...(await complete(bench, 1)))
      // The oldest receipt that is due is the first to be sent.
      remote.faults = [{ kind: 'error', code: 'receiptgate_error' }]
      await sweep()
      bench.clock.advance(30)
    }
    expect(remote.phasesOf(poison.task_id)).toEqual([])
    expectComplete(remote, ids)
    expect(anomalies).toMatchObject([{ kind: 'receipt_set_aside', details: { task_id: poison.task_id } }])
    expect(await outbox(bench)).toEqual({ pending: 1, set_aside: 1 })
    const { tenant } = await bench.store.tenant('default')
    await bench.store.outbox.requeue(tenant, false)
    await sweep()
    expectComplete(remote, [...ids, poison.task_id])
  })
}

describeGates('faults of ReceiptGate', describeFaults)

const describeRefusals = (open: Open): void => {
  it('a receipt that ReceiptGate rejects is set aside at once, and the operator is notified', async () => {
    const bench = await open()
    const remote = await startReceiptGate('1.1')
    await complete(bench, 1)
    const { sweep } = await senderOn(bench, remote, { profile: '1.0' })
    await sweep()
    await sweep()
    expect(remote.submissions.map(({ outcome }) => outcome)).toEqual(['validation_failed'])
    const operator = caller('service', 'operator', 'agent')
    const { attention } = await bench.gate.bootstrap(operator, {})
    expect(attention.anomalies).toMatchObject([{ body: { kind: 'receipt_set_aside' } }])
    const { tenant } = await bench.store.tenant('default')
    await bench.store.outbox.requeue(tenant, true)
    const repaired = await senderOn(bench, remote, { profile: '1.1' })
    await repaired.sweep()
    expect(remote.stored.map(({ phase }) => phase)).toEqual(['accepted', 'complete'])
  })

  it('a wrong key pauses sending and is reported once, without losing a receipt', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    const ids = await complete(bench, 1)
    const wrong = await senderOn(bench, { url: remote.url, key: 'wrong' })
    for (let n = 0; n < 12; n++) {
      await wrong.sweep()
      bench.clock.advance(30)
    }
    expect(wrong.anomalies).toMatchObject([{ kind: 'receipt_ledger_misconfigured' }])
    expect(await outbox(bench)).toEqual({ pending: 2, set_aside: 0 })
    const right = await senderOn(bench, remote)
    await right.sweep()
    expectComplete(remote, ids)
  })

  it('a receipt that is too large is sent again without its contents', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    await ask(bench.gate)
    await finish(bench.gate, await hold(bench.gate, { payload: { text: 'x'.repeat(10_000) } }))
    const { sweep, anomalies } = await senderOn(bench, remote)
    remote.faults = [{ kind: 'status', status: 413 }]
    await sweep()
    expect(at(remote.stored, 0)).toMatchObject({ metadata: { truncated: true }, body: { truncated: true } })
    expect(anomalies).toEqual([])
    remote.standing = { kind: 'status', status: 413 }
    await finish(bench.gate, await hold(bench.gate))
    await sweep()
    expect(anomalies).toMatchObject([
      { kind: 'receipt_set_aside', details: { reason: 'the receipt is too large' } },
    ])
  })

  it('a backlog above the threshold is reported once', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    await complete(bench, 2)
    const { sweep, anomalies } = await senderOn(bench, remote, { bufferSize: 3 })
    remote.standing = { kind: 'status', status: 500 }
    await sweep()
    await sweep()
    expect(anomalies).toMatchObject([{ kind: 'receipt_backlog', details: { threshold: 3 } }])
  })

  it('receipts of other tenants are not sent', async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    await ask(bench.gate, {}, agent('bob', 'acme'))
    await bench.gate.leaseNext(caller('worker', 'w1', 'worker', 'acme'), { worker_id: 'w1' })
    const { sweep } = await senderOn(bench, remote)
    await sweep()
    expect(remote.submissions).toEqual([])
  })
}

describeGates('refusals of ReceiptGate', describeRefusals, ['sqlite'])

// An SQLite database has one server only.
describeGates(
  'several servers',
  (open) => {
    it('two senders send each receipt once', async () => {
      const bench = await open()
      const remote = await startReceiptGate()
      const ids = await complete(bench, 3)
      const [one, two] = [await senderOn(bench, remote), await senderOn(bench, remote, { holder: 'b' })]
      await Promise.all([one.sweep(), two.sweep()])
      await Promise.all([one.sweep(), two.sweep()])
      expect(remote.submissions).toHaveLength(6)
      expectComplete(remote, ids)
    })
  },
  ['postgres'],
)
