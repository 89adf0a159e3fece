import pg from 'pg'
import type { Caller } from '../../dist/core/principal.js'
import type { Gate } from '../../dist/features/gate.js'
import type { ReceiptView } from '../../dist/features/receipts/get-receipt.js'
import { type Database, type Databases, openGateOn, type StoreName } from '../engine/databases.ts'
import { lifecyclesPerSecond, workerCaller } from '../engine/lifecycle.ts'
import type { Resources } from '../resources.ts'
import { median, times } from '../stats.ts'
import { FIRST_SESSION, fill, firstOwner, tenantName, typeName } from './fill.ts'
import type { Contents } from './options.ts'

const PAGE = 50
const ROUNDS = 5
const CALLS_PER_ROUND = 20
const CALLERS = 64
const LOAD_ROUNDS = 3
const LOAD_SECONDS = 2

type Read = (gate: Gate, tenant: string, i: number, contents: Contents) => Promise<void>

function admin(tenant: string): Caller {
  return { tenant, principal: { kind: 'human', id: 'operator' }, role: 'admin' }
}

/** Checks the number of items, so that a fast and wrong response is not measured. */
function expectItems(items: readonly unknown[], count: number): void {
  if (items.length !== count) throw new Error(`a page has ${items.length} items instead of ${count}`)
}

/** Every second claim accepts any type, so that both ways to find a task are measured. */
const claim: Read = async (gate, tenant, i, { types }) => {
  const accept = i % 2 === 0 ? { accept_types: [typeName(i % types)] } : {}
  const { tasks } = await gate.leaseNext(workerCaller('worker-1', tenant), {
    worker_id: 'worker-1',
    ...accept,
  })
  expectItems(tasks, 1)
}

const firstReceipts = new WeakMap<Gate, Map<string, ReceiptView>>()

/** The oldest task.assigned receipt of the first owner; its task is finished. It is read once. */
async function firstReceipt(gate: Gate, tenant: string): Promise<ReceiptView> {
  const known = firstReceipts.get(gate) ?? new Map<string, ReceiptView>()
  firstReceipts.set(gate, known)
  const filter = { receipt_type: 'task.assigned', limit: 1 }
  const receipt = known.get(tenant) ?? (await gate.listReceipts(firstOwner(tenant), filter)).receipts[0]
  if (receipt === undefined) throw new Error(`${tenant} has no receipts`)
  known.set(tenant, receipt)
  return receipt
}

/** What is measured in every database, by the name of its column. */
export const READS = {
  claim,
  'list by owner': async (gate, tenant) => {
    expectItems((await gate.listTasks(firstOwner(tenant), { limit: PAGE })).tasks, PAGE)
  },
  'list by status': async (gate, tenant) => {
    const filter = { status: 'succeeded', limit: PAGE }
    expectItems((await gate.listTasks(admin(tenant), filter)).tasks, PAGE)
  },
  'list by status, no match': async (gate, tenant) => {
    expectItems((await gate.listTasks(admin(tenant), { status: 'failed', limit: PAGE })).tasks, 0)
  },
  'list by session': async (gate, tenant) => {
    const filter = { session_id: FIRST_SESSION, limit: PAGE }
    expectItems((await gate.listTasks(admin(tenant), filter)).tasks, PAGE)
  },
  'open obligations': async (gate, tenant) => {
    const { open_obligations } = await gate.listOpenObligations(firstOwner(tenant), { limit: PAGE })
    expectItems(open_obligations, PAGE)
  },
  'receipts by addressee': async (gate, tenant) => {
    const { receipts } = await gate.listReceipts(firstOwner(tenant), { order: 'newest', limit: PAGE })
    expectItems(receipts, PAGE)
  },
  'receipts by type': async (gate, tenant) => {
    const filter = { receipt_type: 'task.assigned', limit: PAGE }
    expectItems((await gate.listReceipts(firstOwner(tenant), filter)).receipts, PAGE)
  },
  'receipts by task': async (gate, tenant) => {
    const { task_id } = await firstReceipt(gate, tenant)
    const { receipts } = await gate.listReceipts(firstOwner(tenant), { task_id: task_id ?? '', limit: PAGE })
    if (receipts.length === 0) throw new Error(`task ${task_id} has no receipts`)
  },
  'check terminator': async (gate, tenant) => {
    const { receipt_id } = await firstReceipt(gate, tenant)
    const { has_terminator } = await gate.checkTerminator(firstOwner(tenant), { receipt_id })
    if (!has_terminator) throw new Error(`${receipt_id} has no terminator`)
  },
  'unread inbox': async (gate, tenant) => {
    expectItems((await gate.listInbox(firstOwner(tenant), { limit: PAGE })).items, PAGE)
  },
} satisfies Record<string, Read>

export type ReadName = keyof typeof READS

/** The measurements of one database: milliseconds (p50), and lifecycles per second in each round. */
export interface Cell {
  readonly contents: Contents
  readonly p50: ReadonlyMap<ReadName, number>
  readonly lifecycles: readonly number[]
}

/** Fills one database for each of the contents, and measures them in turn. */
export async function measureCells(
  databases: Databases,
  store: StoreName,
  all: readonly Contents[],
  names: readonly ReadName[],
  { signal }: Resources,
): Promise<Cell[]> {
  const opened = []
  try {
    for (const contents of all) {
      const database = await databases.create(store)
      const gate = await openGateOn(database)
      const taken = new Map(names.map((name) => [name, [] as number[]]))
      opened.push({ contents, database, gate, taken, rates: [] as number[] })
      console.log(`filling ${store} with ${contents.label}`)
      await fill(gate, contents, signal)
      await settle(database)
    }
    let calls = 0
    for (let round = 0; round <= ROUNDS; round++) {
      for (const name of names) {
        for (const { contents, gate, taken } of opened) {
          signal.throwIfAborted()
          const ms = await times(CALLS_PER_ROUND, () => {
            const i = calls++
            return READS[name](gate, tenantName(i % contents.tenants), i, contents)
          })
          // The first round warms caches and plans.
          if (round > 0) taken.get(name)?.push(...ms)
        }
      }
    }
    // Last, because the load adds tasks.
    for (let round = 0; round <= LOAD_ROUNDS; round++) {
      for (const { contents, gate, rates } of opened) {
        signal.throwIfAborted()
        const tenants = Array.from({ length: contents.tenants }, (_, i) => tenantName(i))
        const rate = await lifecyclesPerSecond(gate, CALLERS, LOAD_SECONDS, tenants)
        if (round > 0) rates.push(rate)
      }
    }
    return opened.map(({ contents, taken, rates }) => ({
      contents,
      p50: new Map([...taken].map(([name, ms]) => [name, median(ms)])),
      lifecycles: rates,
    }))
  } finally {
    for (const { gate, database } of opened) {
      await gate.close()
      await database.drop()
    }
  }
}

/** Autovacuum would otherwise work through the rows of the fill during the measurement. */
async function settle({ name, address }: Database): Promise<void> {
  if (name === 'sqlite') return
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  await client.query('VACUUM (ANALYZE)')
  await client.query('CHECKPOINT')
  await client.end()
}
