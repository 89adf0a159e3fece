import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { receiptHash } from '../../src/core/receipt.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { type Run, runScenario } from './run.ts'
import { NEVER_REFUSED, SCENARIO } from './scenario.ts'
import { onTheGate, TRANSPORTS } from './transports.ts'
import { storeNames } from './world.ts'

const calls = SCENARIO.filter((step) => 'operation' in step)

/** A server counts what workers do there, and adds it to the counts of the others only now and then. */
const PER_SERVER = / (list_workers|drain_worker)$/

describe('the scenario', () => {
  it.each(OPERATIONS)('has $name answered', ({ name }) => {
    expect(calls.filter(({ operation, expect }) => operation === name && 'answer' in expect)).not.toEqual([])
  })

  it.each(OPERATIONS.filter(({ name }) => !NEVER_REFUSED.includes(name)))('has $name refused', ({ name }) => {
    expect(calls.filter(({ operation, expect }) => operation === name && 'refused' in expect)).not.toEqual([])
  })
})

describe('whichever way the gate is reached', () => {
  let reference: Run

  beforeAll(async () => {
    // Answers say for how long the server has been up.
    vi.useFakeTimers({ toFake: ['Date'] })
    reference = await runScenario('sqlite', onTheGate)
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  const ways = storeNames().flatMap((storeName) =>
    Object.entries({ 'the gate itself': onTheGate, ...TRANSPORTS }).map(([way, connect]) => ({
      way,
      storeName,
      connect,
    })),
  )

  // The strictest mode: who may do something there may do it in the others.
  const alternating = Object.entries(TRANSPORTS).filter(([way]) => way.endsWith('shared key and admin keys'))

  it.skipIf(!storeNames().includes('postgres')).each(alternating)(
    'the story is the same by %s on two servers in turn',
    async (_way, connect) => expectTheSame(await runScenario('postgres', connect, 2), PER_SERVER),
  )

  it.each(ways)('the story is the same by $way on $storeName', async ({ storeName, connect }) => {
    expectTheSame(await runScenario(storeName, connect))
  })

  function expectTheSame(run: Run, except: RegExp = /^$/): void {
    for (const [n, outcome] of run.outcomes.entries()) {
      if (!except.test(outcome.step)) expect(outcome).toEqual(reference.outcomes[n])
    }
    expect(run.outcomes).toHaveLength(reference.outcomes.length)
    expect(run.tasks).toEqual(reference.tasks)
    expect(run.receipts).toEqual(reference.receipts)
  }

  it('and every receipt hashes to what it says', () => {
    expect(reference.receipts.length).toBeGreaterThan(50)
    for (const receipt of reference.receipts) {
      expect(receipt.hash).toBe(receiptHash(reference.salt, receipt))
    }
  })
})
