import { expect, it } from 'vitest'
import { auditLedger } from '../../src/receiptgate/audit.ts'
import type { Reads } from '../../src/store/reads.ts'
import { describeGates } from '../support/gates.ts'
import { override } from '../support/steps.ts'
import { runLifecycles } from './lifecycles.ts'

describeGates('the audit of the ledger', (open) => {
  it('finds nothing after tasks of every kind, and names each contradiction', async () => {
    const bench = await open({ settings: { escalation_enabled: true } })
    const { open: held, succeeded } = await runLifecycles(bench)
    const { store } = bench
    const tenant = await store.tenant('default')
    expect(await auditLedger({ store, tenant })).toMatchObject({ tasks: 13, differences: [] })

    const { reads } = store
    const forgetful = override(store, { reads: changed(reads, { obligations: async () => [] }) })
    const { differences: missing } = await auditLedger({ store: forgetful, tenant })
    const unlisted = missing.filter(({ difference }) => difference.includes('is not listed as an obligation'))
    // The held task and the success that cannot be located are owed.
    expect([missing.length, unlisted.length]).toEqual([2, 2])

    const wrong = override(store, {
      reads: changed(reads, {
        receipt: async () => undefined,
        children: async (_, parents) =>
          parents.map((parent) => ({ parent, seq: 99, receipt_type: 'task.failed', from: 'worker:w1' })),
      }),
    })
    const { differences } = await auditLedger({ store: wrong, tenant })
    const of = (task: { readonly task_id: string }) =>
      differences.filter(({ task_id }) => task_id === task.task_id).map(({ difference }) => difference)
    expect(of(held)).toEqual(['the task is leased, but receipt 99 is task.failed'])
    expect(of(succeeded)).toEqual(['the task is succeeded, but has no task.completed receipt'])
  })
})

/** The reads of a store with some of them replaced. */
function changed(reads: Reads, members: Partial<Reads>): Reads {
  return new Proxy(reads, { get: (own, name) => Reflect.get(name in members ? members : own, name) })
}
