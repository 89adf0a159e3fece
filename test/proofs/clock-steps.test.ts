import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Fault } from '../../src/core/errors.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import type { Store } from '../../src/store/store.ts'
import { Dice } from '../simulation/dice.ts'
import { agent, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../support/postgres.ts'
import { type SettableClock, settableClock } from '../support/settable-clock.ts'
import { held } from '../support/steps.ts'

const COMMANDS = 200
const SEED = Number(process.env.ASYNCGATE_SEED ?? 20_261)
const STEPS_MS = [-7_200_000, -3_600_000, -60_000, -1_000, 1_000, 60_000, 3_600_000]

describe.skipIf(!postgresUrl())('two servers on one PostgreSQL whose clock is set', () => {
  let database: FreshDatabase
  let clock: SettableClock
  let stores: Store[]
  let gates: Gate[]

  beforeEach(async () => {
    database = await freshDatabase('clock_steps')
    clock = await settableClock(database.url)
    const open = () => openPostgresStore({ url: database.url })
    stores = [await open(), await open()]
    gates = stores.map((store) => openGate({ store, sweeping: false }))
  })
  afterEach(async () => {
    for (const gate of gates) await gate.close()
    await clock.close()
    await database.drop()
  })

  it(`every invariant holds over ${COMMANDS} commands, and all tasks end (seed ${SEED})`, async () => {
    const dice = new Dice(SEED)
    const offers: OfferView[] = []
    const taskIds: string[] = []
    const someOffer = () => offers[dice.below(offers.length)]
    const onOffer = (run: (offer: OfferView) => Promise<unknown>) => async () => {
      const offer = someOffer()
      if (offer !== undefined) await run(offer)
    }
    const commandsOf = (gate: Gate): (() => Promise<unknown>)[] => [
      async () => {
        const delay_seconds = dice.below(3) === 0 ? 30 : 0
        const input = { type: 'job', delay_seconds, retry_backoff_seconds: 1, max_attempts: 3 }
        taskIds.push((await gate.createTask(agent(), input)).task_id)
      },
      async () => {
        const request = { worker_id: 'w1', max_tasks: 3, lease_ttl_seconds: 20 }
        offers.push(...(await gate.leaseNext(worker(), request)).tasks)
      },
      onOffer((offer) => gate.renewLease(worker(), held(offer))),
      onOffer((offer) => gate.reportProgress(worker(), { ...held(offer), progress: { percent: 1 } })),
      onOffer((offer) => gate.appendLogs(worker(), { ...held(offer), lines: [{ text: 'x' }] })),
      onOffer((offer) => gate.complete(worker(), { ...held(offer), result: 1, artifacts: ['x'] })),
      onOffer((offer) => gate.fail(worker(), { ...held(offer), error: { code: 'X' }, retryable: true })),
      onOffer((offer) => gate.releaseLease(worker(), held(offer))),
      () => gate.sweep(),
    ]
    /** Refusals are expected; any other error is not. */
    const attempt = async (run: () => Promise<unknown>) => {
      try {
        await run()
      } catch (error) {
        if (!(error instanceof Fault) || error.code === 'INTERNAL_ERROR') throw error
      }
    }
    for (let n = 0; n < COMMANDS; n++) {
      if (dice.below(8) === 0) await clock.step(dice.pick(STEPS_MS))
      await attempt(dice.pick(gates.slice(n % 2, (n % 2) + 1).flatMap(commandsOf)))
    }
    expect(taskIds.length).toBeGreaterThan(5)
    expect(offers.length).toBeGreaterThan(5)

    const [store, other] = stores
    const [gate, second] = gates
    if (store === undefined || other === undefined || gate === undefined || second === undefined) {
      return expect.unreachable()
    }
    const tenant = await store.tenant('default')
    expect(await checkInvariants(store, tenant)).toEqual([])
    const receipts = []
    for (let from = 0; ; ) {
      const page = await other.reads.receipts(tenant.tenant, { by: 'all' }, from, 'ascending', 100)
      if (page.length === 0) break
      receipts.push(...page)
      from = page.at(-1)?.seq ?? from
    }
    const times = receipts.map((receipt) => receipt.created_at)
    expect(times).toEqual([...times].sort((a, b) => a - b))

    // As time passes, every lease and delay ends, and the tasks are completed.
    await clock.step(-3_600_000)
    for (let round = 0; (await store.reads.counters(tenant.tenant)).open_tasks > 0; round++) {
      expect(round).toBeLessThan(50)
      await gate.sweep()
      const { tasks } = await second.leaseNext(worker('w2'), { worker_id: 'w2', max_tasks: 100 })
      for (const offer of tasks) {
        const done = { ...held(offer, 'w2'), result: 1, artifacts: ['x'] }
        await gate.complete(worker('w2'), done)
      }
      await clock.step(60_000)
    }
    expect(await checkInvariants(other, tenant)).toEqual([])
    for (const task_id of taskIds) {
      expect((await second.getTask(agent(), { task_id })).status).toMatch(/^(succeeded|failed)$/)
    }
  }, 120_000)
})
