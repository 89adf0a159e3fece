import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parsePrincipalKey } from '../../src/core/principal.ts'
import { type HeldTask, isHeld } from '../../src/core/task.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { Store, TenantRef } from '../../src/store/store.ts'
import { agent, caller, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { type PostgresProcess, startPostgres } from '../support/postgres-process.ts'
import { type Acknowledged, findLost, type Refused } from './acknowledged.ts'
import { createInput, type Load, startLoad } from './load-process.ts'
import { openStore, type Place } from './place.ts'
import { allReceipts, tally } from './receipts.ts'

const CYCLES = Number(process.env.ASYNCGATE_CRASHES ?? 5)
const CALLERS = 16
const TENANT = 'load'
const ARTIFACTS = [{ url: 'https://results.example/1.json' }]

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const PLACES: Record<string, () => Promise<Place>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'asyncgate-crash-'))
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
    return { sqlite: join(folder, 'gate.db') }
  },
  async postgres() {
    const database = await freshDatabase('crash')
    cleanups.push(() => database.drop())
    return { postgres: database.url }
  },
}

describe.each(Object.entries(PLACES))('killed process on %s', (storeName, makePlace) => {
  it.skipIf(storeName === 'postgres' && !postgresUrl())(
    'a killed process loses nothing that it acknowledged, and its tasks continue elsewhere',
    { timeout: 60_000 + CYCLES * 20_000 },
    async () => {
      const place = await makePlace()
      const acknowledged: Acknowledged[] = []
      const orphans: HeldTask[] = []
      let unanswered = 0
      for (let cycle = 1; cycle <= CYCLES; cycle++) {
        const load = startLoad({ place, tenant: TENANT, run: `run${cycle}`, callers: CALLERS })
        cleanups.push(() => load.kill())
        const enough = 200 + Math.floor(Math.random() * 1000)
        await load.until(({ acknowledged }) => acknowledged.length >= enough)
        await delay(Math.random() * 20)
        await load.kill()
        acknowledged.push(...load.acknowledged)
        expect(unexpectedRefusals(load)).toEqual([])

        await withGate(place, async (gate, store, tenant) => {
          unanswered += await sendAgain(gate, load)
          await expectToWork(gate)
          expect(await findLost(store, tenant, acknowledged)).toEqual([])
          expect(await checkInvariants(store, tenant)).toEqual([])
          orphans.push(...(await heldTasks(store, tenant)))
        })
      }
      await withGate(place, async (gate, store, tenant) => {
        await finishAll(gate, store, tenant)
        await expectRedone(gate, store, tenant, orphans)
        const lost = await findLost(store, tenant, acknowledged)
        expect(lost).toEqual([])
        expect(await checkInvariants(store, tenant)).toEqual([])
        console.log(
          `kill -9 on ${storeName}: ${CYCLES} cycles, ${acknowledged.length} commands acknowledged, ${lost.length} lost; ` +
            `${unanswered} creates had been committed but not acknowledged, ${orphans.length} leases were redone`,
        )
      })
    },
  )
})

describe.skipIf(!postgresUrl())('killed PostgreSQL', () => {
  it('a killed PostgreSQL loses nothing that was acknowledged, and the same gate continues when it is back', {
    timeout: 60_000 + CYCLES * 20_000,
  }, async () => {
    const server = await startPostgres({ settings: { shared_buffers: '64MB', max_connections: 40 } })
    cleanups.push(() => server.remove())
    const place = { postgres: server.url }
    const load = startLoad({ place, tenant: TENANT, run: 'run', callers: CALLERS })
    cleanups.push(() => load.kill())
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await acknowledgedMore(load, 200)
      const before = unexpectedRefusals(load).length
      await delay(Math.random() * 20)
      await [stopImmediately, killServer, killBackend][cycle % 3]?.(server)
      await load.until((load) => unexpectedRefusals(load).length > before)
      await vi.waitFor(() => server.start(), { timeout: 20_000, interval: 100 })
    }
    await acknowledgedMore(load, 200)
    await load.finish()

    const codes = tally(unexpectedRefusals(load), ({ code }) => code)
    expect(['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toEqual(expect.arrayContaining(Object.keys(codes)))
    expect(load.slowest).toBeLessThan(11_000)
    await withGate(place, async (gate, store, tenant) => {
      await expectToWork(gate)
      const lost = await findLost(store, tenant, load.acknowledged)
      expect(lost).toEqual([])
      expect(await checkInvariants(store, tenant)).toEqual([])
      console.log(
        `kill -9 of PostgreSQL: ${CYCLES} crashes, ${load.acknowledged.length} commands acknowledged, ${lost.length} lost; ` +
          `meanwhile ${JSON.stringify(codes)}, the slowest call took ${load.slowest} ms`,
      )
    })
  })
})

/** Opens a gate in this process on the data that the others left. It sweeps only on request. */
async function withGate(
  place: Place,
  work: (gate: Gate, store: Store, tenant: TenantRef) => Promise<void>,
): Promise<void> {
  const store = await openStore(place)
  const gate = openGate({ store, sweeping: false })
  try {
    await work(gate, store, await store.tenant(TENANT))
  } finally {
    await gate.close()
  }
}

/**
 * Unexpected refusals. Under load a lease may expire before its holder is done, and a task may be canceled before its
 * question is decided; both are expected.
 */
function unexpectedRefusals({ refused }: Load): Refused[] {
  return refused.filter(({ code }) => code !== 'LEASE_INVALID_OR_EXPIRED' && code !== 'ALREADY_DECIDED')
}

/**
 * Each caller repeats, twice, the create after its last answered one, which may have been in progress. It must be one
 * task. Returns how many had been committed.
 */
async function sendAgain(gate: Gate, load: Load): Promise<number> {
  const rounds = new Map<string, number>()
  for (const said of load.acknowledged) if (said.verb === 'create') rounds.set(said.owner, said.n)
  let committed = 0
  for (const [owner, n] of rounds) {
    const by = agent(owner, TENANT)
    const last = await gate.createTask(by, createInput(n))
    const next = await gate.createTask(by, createInput(n + 1))
    const again = await gate.createTask(by, createInput(n + 1))
    expect([last.is_duplicate, again]).toEqual([true, { ...next, status: again.status, is_duplicate: true }])
    committed += Number(next.is_duplicate)
  }
  return committed
}

async function expectToWork(gate: Gate): Promise<void> {
  const { task_id } = await gate.createTask(agent('probe', TENANT), { type: 'probe' })
  const by = worker('probe', TENANT)
  const { tasks } = await gate.leaseNext(by, { worker_id: 'probe', accept_types: ['probe'] })
  expect(tasks.map((task) => task.task_id)).toEqual([task_id])
  for (const { lease_id } of tasks) {
    const done = { worker_id: 'probe', task_id, lease_id, result: 'works', artifacts: ARTIFACTS }
    expect(await gate.complete(by, done)).toMatchObject({ ok: true })
  }
}

async function heldTasks({ reads }: Store, { tenant }: TenantRef): Promise<HeldTask[]> {
  const lines = await Promise.all(
    (['leased', 'running'] as const).map((status) =>
      reads.scan(tenant, { by: 'status', status }, Number.MAX_SAFE_INTEGER, 10_000),
    ),
  )
  const records = await reads.tasks(
    tenant,
    lines.flat().map((line) => line.task_id),
  )
  return records.map(({ task }) => task).filter(isHeld)
}

/** Decides all questions that others have left open. */
async function approveAll(gate: Gate): Promise<void> {
  const by = caller('human', 'heir', 'admin', TENANT)
  for (;;) {
    const { approvals } = await gate.listApprovals(by, { limit: 200 })
    if (approvals.length === 0) return
    await Promise.all(approvals.map(({ task_id, n }) => gate.approve(by, { task_id, n })))
  }
}

/** Completes all tasks. Claims detect expired leases themselves. */
async function finishAll(gate: Gate, { reads }: Store, { tenant }: TenantRef): Promise<void> {
  const by = worker('heir', TENANT)
  while ((await reads.counters(tenant)).open_tasks > 0) {
    await approveAll(gate)
    const { tasks } = await gate.leaseNext(by, { worker_id: 'heir', max_tasks: 100, wait_seconds: 10 })
    const items = tasks.map(({ task_id, lease_id }) => ({
      worker_id: 'heir',
      task_id,
      lease_id,
      result: 'redone',
      artifacts: ARTIFACTS,
    }))
    if (items.length > 0) await gate.completeMany(by, { items })
  }
}

/** The leases of the orphaned tasks have expired, and calls under them are refused. */
async function expectRedone(gate: Gate, store: Store, tenant: TenantRef, orphans: readonly HeldTask[]) {
  const expired = (await allReceipts(store, tenant)).filter(
    (receipt) => receipt.receipt_type === 'lease.expired',
  )
  const leases = new Set(expired.map((receipt) => receipt.lease_id))
  expect(orphans.filter((task) => !leases.has(task.lease.lease_id))).toEqual([])
  for (const { task_id, lease } of orphans) {
    const { kind, id } = parsePrincipalKey(lease.holder)
    const { worker_id, lease_id } = lease
    const late = gate.complete(caller(kind, id, 'worker', TENANT), {
      worker_id,
      task_id,
      lease_id,
      result: 'late',
    })
    await expect(late).rejects.toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
  }
}

async function acknowledgedMore(load: Load, count: number): Promise<void> {
  const enough = load.acknowledged.length + count
  await load.until(({ acknowledged }) => acknowledged.length >= enough)
}

const stopImmediately = (server: PostgresProcess) => server.stop('immediate')

/** Its backends end as well; until then a new server cannot start. */
async function killServer(server: PostgresProcess): Promise<void> {
  if (server.pid !== undefined) process.kill(server.pid, 'SIGKILL')
  await vi.waitFor(() => expect(server.pid).toBeUndefined(), { timeout: 5_000, interval: 10 })
}

/** The server then ends all other backends and recovers without a restart. */
async function killBackend(server: PostgresProcess): Promise<void> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  const find = `SELECT pid FROM pg_stat_activity WHERE application_name = 'asyncgate' LIMIT 1`
  const { rows } = await client.query<{ pid: number }>(find)
  for (const { pid } of rows) process.kill(pid, 'SIGKILL')
  await client.end().catch(() => {})
}
