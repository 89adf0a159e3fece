import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { type Run, runScenario } from './run.ts'
import { NEVER_REFUSED, SCENARIO } from './scenario.ts'
import { onTheGate, TRANSPORTS } from './transports.ts'
import { storeNames } from './world.ts'

/** The scenario has hundreds of calls. */
vi.setConfig({ testTimeout: 120_000 })

const calls = SCENARIO.filter((step) => 'operation' in step)

/**
 * A server counts the activity of its own workers and adds it to the shared counts only periodically. The random parts
 * of keys come from the server that creates them.
 */
const PER_SERVER = / (list_workers|drain_worker|\w+_keys?|get_receipt_proof|get_checkpoint)$/

/** Proofs contain random salts and signatures. */
const RANDOM = / (get_receipt_proof|get_checkpoint)$/

describe('scenario', () => {
  it.each(OPERATIONS)('the scenario contains a successful $name', ({ name }) => {
    expect(calls.filter(({ operation, expect }) => operation === name && 'answer' in expect)).not.toEqual([])
  })

  it.each(OPERATIONS.filter(({ name }) => !NEVER_REFUSED.includes(name)))(
    'the scenario contains a refused $name',
    ({ name }) => {
      expect(calls.filter(({ operation, expect }) => operation === name && 'refused' in expect)).not.toEqual(
        [],
      )
    },
  )
})

describe('equivalence of protocols and stores', () => {
  let reference: Run

  beforeAll(async () => {
    // Responses include the uptime of the server.
    vi.useFakeTimers({ toFake: ['Date'] })
    reference = await runScenario('sqlite', onTheGate)
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  // The strictest mode: callers allowed here are allowed in the others. Its keys are in the store.
  const isStrict = (way: string) => way.endsWith('issued keys')
  const isInLaxMode = (way: string) => /(insecure development|shared key|admin keys)$/.test(way)

  // No store knows how a caller was authenticated in the other modes, so they run on one store only. On PostgreSQL the
  // strictest mode runs on two servers.
  const ways = storeNames().flatMap((storeName) =>
    Object.entries({ 'the gate itself': onTheGate, ...TRANSPORTS })
      .filter(([way]) => storeName === 'sqlite' || !(isInLaxMode(way) || isStrict(way)))
      .map(([way, connect]) => ({ way, storeName, connect })),
  )

  const alternating = Object.entries(TRANSPORTS).filter(([way]) => isStrict(way))

  it.skipIf(!storeNames().includes('postgres')).each(alternating)(
    'the outcomes are the same over %s on two alternating servers',
    async (_way, connect) => expectTheSame(await runScenario('postgres', connect, 2), PER_SERVER),
  )

  it.each(ways)('the outcomes are the same over $way on $storeName', async ({ storeName, connect }) => {
    expectTheSame(await runScenario(storeName, connect))
  })

  function expectTheSame(run: Run, except: RegExp = RANDOM): void {
    for (const [n, outcome] of run.outcomes.entries()) {
      if (!except.test(outcome.step)) expect(outcome).toEqual(reference.outcomes[n])
    }
    expect(run.outcomes).toHaveLength(reference.outcomes.length)
    expect(run.tasks).toEqual(reference.tasks)
    expect(run.receipts).toEqual(reference.receipts)
  }
})
