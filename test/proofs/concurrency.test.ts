import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Fault } from '../../src/core/errors.ts'
import type { Caller } from '../../src/core/principal.ts'
import { isTerminalType } from '../../src/core/receipt.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { CreateAnswer } from '../../src/features/tasks/create.ts'
import type { Store } from '../../src/store/store.ts'
import { admin, agent, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { type FreshDatabase, freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'
import { openStore } from './place.ts'
import { allReceipts, tally } from './receipts.ts'
import { type GateProcess, type RemoteGate, startGate } from './remote-gate.ts'

const ARTIFACTS = [{ url: 'https://results.example/1.json' }]
const LEASE_QUOTA = 10
const TASK_QUOTA = 20

/** The last statement of a gate's connection for hints: LISTEN, or its liveness check. */
const LISTENING = `
  SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query IN ('LISTEN asyncgate', 'SELECT 1')
  AND pid <> pg_backend_pid() AND application_name = 'asyncgate'`

describe.skipIf(!postgresUrl())('two processes on one PostgreSQL', () => {
  let database: FreshDatabase
  let role: string
  let processes: GateProcess[] = []
  let store: Store
  let superuser: pg.Client
  /** One gate in each process. */
  let gates: readonly [RemoteGate, RemoteGate]
  /** One gate with quotas in each process. */
  let limited: readonly [RemoteGate, RemoteGate]

  beforeAll(async () => {
    database = await freshDatabase('concurrency')
    const url = await restrictedRole(database.url)
    role = new URL(url).username
    const place = { postgres: url }
    const quotas = { max_concurrent_leases: LEASE_QUOTA, max_active_tasks: TASK_QUOTA }
    const settings = [{}, {}, quotas, quotas]
    processes = await Promise.all(settings.map((settings) => startGate({ place, settings })))
    const [a, b, c, d] = processes.map((process) => process.gate)
    if (!a || !b || !c || !d) throw new Error('a process is missing')
    gates = [a, b]
    limited = [c, d]
    store = await openStore(place)
    superuser = new pg.Client({ connectionString: database.url })
    await superuser.connect()
  })
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.close()))
    await store?.close()
    await superuser?.end()
    await database?.drop()
  })

  /** Receipts, obligations, states and counters agree, and seq has no gaps. */
  const expectSound = async (tenant: string) =>
    expect(await checkInvariants(store, await store.tenant(tenant))).toEqual([])

  const receiptsOf = async (tenant: string) => allReceipts(store, await store.tenant(tenant))

  it('each of 200 tasks is leased exactly once by 50 workers', async () => {
    const tenant = 'claimers'
    const created = await createTasks(gates, 200, tenant)
    const claimers = Array.from({ length: 50 }, (_, n) => claimAll(pick(gates, n), worker(`w${n}`, tenant)))
    const offers = (await Promise.all(claimers)).flat()

    expect(offers.map((offer) => offer.task_id).sort()).toEqual([...created].sort())
    expect(new Set(offers.map((offer) => offer.fence))).toEqual(new Set([1]))
    expect(tally(await receiptsOf(tenant), (receipt) => receipt.receipt_type)).toEqual({
      'task.assigned': 200,
      'task.accepted': 200,
    })
    await expectSound(tenant)
  })

  it('200 creates with one idempotency key create one task and one obligation', async () => {
    const tenant = 'one-key'
    const alice = agent('alice', tenant)
    const input = { type: 'job', idempotency_key: 'the same', payload: { n: 1 } }
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => pick(gates, n).createTask(alice, input)),
    )

    expect(new Set(answers.map((answer) => answer.task_id)).size).toBe(1)
    expect(new Set(answers.map((answer) => answer.receipt_id)).size).toBe(1)
    expect(answers.filter((answer) => !answer.is_duplicate)).toHaveLength(1)
    expect((await receiptsOf(tenant)).map((receipt) => receipt.receipt_type)).toEqual(['task.assigned'])
    for (const gate of gates) {
      const { open_obligations } = await gate.listOpenObligations(alice)
      expect(open_obligations.map((receipt) => receipt.task_id)).toEqual([answers[0]?.task_id])
    }
    await expectSound(tenant)
  })

  it(`100 claims at a quota of ${LEASE_QUOTA} leases get exactly ${LEASE_QUOTA}`, async () => {
    const tenant = 'lease-quota'
    await createTasks(gates, 200, tenant)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => claim(pick(limited, n), worker(`w${n}`, tenant))),
    )

    expect(answers.flat()).toHaveLength(LEASE_QUOTA)
    const { tenant: id } = await store.tenant(tenant)
    expect((await store.reads.counters(id)).active_leases).toBe(LEASE_QUOTA)
    await expectSound(tenant)
  })

  it(`100 creates at a quota of ${TASK_QUOTA} open tasks create exactly ${TASK_QUOTA}`, async () => {
    const tenant = 'task-quota'
    const alice = agent('alice', tenant)
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, n) => outcomeOf(pick(limited, n).createTask(alice, { type: 'job' }))),
    )

    expect(tally(outcomes, (outcome) => (typeof outcome === 'string' ? outcome : 'created'))).toEqual({
      created: TASK_QUOTA,
      QUOTA_EXCEEDED: 100 - TASK_QUOTA,
    })
    expect(await receiptsOf(tenant)).toHaveLength(TASK_QUOTA)
    await expectSound(tenant)
  })

  it('each task ends once in 1,000 races of cancel, complete and expiry', async () => {
    const tenant = 'races'
    await createTasks(gates, 1000, tenant)
    const asked = { max_tasks: 100, lease_ttl_seconds: 2 }
    const claims = Array.from({ length: 10 }, (_, n) => claim(pick(gates, n), worker('w1', tenant), asked))
    const races = claims.map(async (offers, i) =>
      Promise.all((await offers).map((offer, n) => race(gates, offer, 100 * i + n, tenant))),
    )
    const results = (await Promise.all(races)).flat()
    expect(results).toHaveLength(1000)

    // If only the lease has ended, the task is open and is leased again.
    const left = results.filter((result) => !result.completed && !result.canceled)
    await Promise.all(gates.map((gate) => gate.sweep()))
    const expiries = (await receiptsOf(tenant)).filter((receipt) => receipt.receipt_type === 'lease.expired')
    const expired = new Set(expiries.map((receipt) => receipt.task_id))
    expect(expired.size).toBe(expiries.length)
    expect(left.filter((result) => !expired.has(result.task_id))).toEqual([])
    await Promise.all(
      left.map(async (result, n) => {
        const { ok } = await pick(gates, n).cancelTask(admin(tenant), { task_id: result.task_id })
        expect(ok).toBe(true)
        result.canceled = true
      }),
    )
    expect(results.filter((result) => result.completed && result.canceled)).toEqual([])

    const ids = results.map((result) => result.task_id)
    const ref = await store.tenant(tenant)
    const receipts = await receiptsOf(tenant)
    const endings = receipts.filter((receipt) => isTerminalType(receipt.receipt_type))
    const endingsOf = new Map(ids.map((id) => [id, [] as string[]]))
    for (const { task_id, receipt_type } of endings) endingsOf.get(task_id ?? '')?.push(receipt_type)
    const statuses = new Map(
      (await store.reads.statuses(ref.tenant, ids)).map((row) => [row.task_id, row.status]),
    )
    const found = ids.map((id) => [statuses.get(id), endingsOf.get(id)])
    expect(found).toEqual(
      results.map(({ completed }) =>
        completed ? ['succeeded', ['task.completed']] : ['canceled', ['task.canceled']],
      ),
    )
    await expectSound(tenant)

    // Each of the three must win sometimes, or the races prove nothing.
    const completed = results.filter((result) => result.completed).length
    const canceled = 1000 - completed - left.length
    console.log(
      `races: 1000 tasks, ${completed} completed, ${canceled} canceled, ${expired.size} leases expired`,
    )
    expect(Math.min(completed, canceled, expired.size)).toBeGreaterThan(0)
  })

  it('a waiting claim in one process is woken by a create in the other', async () => {
    const tenant = 'hints'
    await vi.waitFor(async () => expect((await superuser.query(LISTENING)).rowCount).toBe(4), WAIT)
    const times: number[] = []
    for (let n = 0; n < 9; n++) times.push(await pickUp(gates, tenant))
    // The periodic search happens one second after the previous one.
    expect(times.sort((x, y) => x - y)[4]).toBeLessThan(500)
  })

  it('a waiting claim finds the task within 2 s when the hint is lost, and hints resume', async () => {
    const tenant = 'lost-hints'
    await pickUp(gates, tenant)
    // Without LOGIN, the role cannot replace the terminated connections.
    await superuser.query(`ALTER ROLE ${pg.escapeIdentifier(role)} NOLOGIN`)
    try {
      const waiting = await startWaiting(gates[0], tenant)
      await superuser.query(`SELECT pg_terminate_backend(pid) FROM (${LISTENING}) listening`)
      await vi.waitFor(async () => expect((await superuser.query(LISTENING)).rowCount).toBe(0), WAIT)
      const { task_id } = await gates[1].createTask(agent('alice', tenant), { type: 'job' })
      const started = performance.now()
      expect((await waiting.offers).map((offer) => offer.task_id)).toEqual([task_id])
      expect(performance.now() - started).toBeLessThan(2_000)
    } finally {
      await superuser.query(`ALTER ROLE ${pg.escapeIdentifier(role)} LOGIN`)
    }
    await vi.waitFor(async () => expect((await superuser.query(LISTENING)).rowCount).toBe(4), WAIT)
    await expectSound(tenant)
  })
})

const WAIT = { timeout: 15_000, interval: 20 }

/** The outcomes of the calls of a race. */
interface Race {
  readonly task_id: string
  readonly completed: boolean
  canceled: boolean
}

type Gates = readonly [RemoteGate, RemoteGate]

/** Around the end of a lease: a complete, and a cancel or a sweep or both, concurrently in both processes. */
async function race(gates: Gates, offer: OfferView, n: number, tenant: string): Promise<Race> {
  const { task_id, lease_id } = offer
  // From shortly before the end of the lease to shortly after it.
  await delay(offer.expires_in_ms + ((n * 7) % 1000) - 700)
  const complete = () =>
    outcomeOf(
      pick(gates, n).complete(worker('w1', tenant), {
        worker_id: 'w1',
        task_id,
        lease_id,
        result: { n },
        artifacts: ARTIFACTS,
      }),
    )
  const cancel = () => pick(gates, n >> 1).cancelTask(agent('alice', tenant), { task_id })
  const sweep = () => pick(gates, n >> 2).sweep()
  const contestants =
    [
      [complete, cancel, sweep],
      [cancel, sweep, complete],
      [complete, sweep],
    ][n % 3] ?? []
  const answers = new Map<unknown, unknown>(
    await Promise.all(contestants.map(async (call) => [call, await call()] as const)),
  )
  const completion = answers.get(complete)
  if (typeof completion === 'string') expect(completion).toBe('LEASE_INVALID_OR_EXPIRED')
  return {
    task_id,
    completed: typeof completion === 'object',
    canceled: (answers.get(cancel) as { ok: boolean } | undefined)?.ok ?? false,
  }
}

function pick(gates: Gates, n: number): RemoteGate {
  return n % 2 === 0 ? gates[0] : gates[1]
}

/** Each process creates half of the tasks. */
async function createTasks(gates: Gates, count: number, tenant: string): Promise<string[]> {
  const tasks = Array.from({ length: count / 2 }, () => ({ type: 'job' }))
  const answers = await Promise.all(gates.map((gate) => gate.createTasks(agent('alice', tenant), { tasks })))
  return answers.flatMap(({ results }) => results.map((result) => (result as CreateAnswer).task_id))
}

async function claim(gate: RemoteGate, by: Caller, input: object = {}): Promise<readonly OfferView[]> {
  return (await gate.leaseNext(by, { worker_id: by.principal.id, ...input })).tasks
}

/** Claims one task at a time until none is left. */
async function claimAll(gate: RemoteGate, by: Caller): Promise<OfferView[]> {
  const offers: OfferView[] = []
  for (;;) {
    const found = await claim(gate, by)
    if (found.length === 0) return offers
    offers.push(...found)
  }
}

/** A claim that has searched, found nothing, and waits. */
async function startWaiting(gate: RemoteGate, tenant: string) {
  const offers = claim(gate, worker('w1', tenant), { wait_seconds: 20 })
  // Commands are answered in order, so the first claim has searched by now.
  expect(await claim(gate, worker('w2', tenant))).toEqual([])
  return { offers }
}

/** The time in ms from creating a task until the waiting claim in the other process receives it. */
async function pickUp(gates: Gates, tenant: string): Promise<number> {
  const waiting = await startWaiting(gates[0], tenant)
  const started = performance.now()
  const { task_id } = await gates[1].createTask(agent('alice', tenant), { type: 'job' })
  expect((await waiting.offers).map((offer) => offer.task_id)).toEqual([task_id])
  return performance.now() - started
}

/** The result, or the code of the fault. */
async function outcomeOf<T>(call: Promise<T>): Promise<T | string> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
}
