import pg from 'pg'
import { asksForAttention } from '../../dist/core/inbox.js'
import {
  assignments,
  list,
  parameters,
  type RowOf,
  rowsOf,
  type Shape,
} from '../../dist/store/postgres/columns.js'
import {
  CHANGING,
  DONE,
  FILED,
  OBLIGATION,
  OPEN,
  PARENT,
  RECEIPT,
  SPEC,
  TASK_KEY,
} from '../../dist/store/postgres/shapes.js'
import { doneRow, openRow } from '../../dist/store/rows.js'
import { floorBatches } from './floor.ts'
import type { Sample } from './sample.ts'

const UPDATE = { ...TASK_KEY, ...CHANGING } as const
const OBLIGATION_KEY = { tenant: 'int', principal: 'text', seq: 'bigint' } as const

const SQL = {
  tasks: `INSERT INTO tasks (${list(OPEN)}) SELECT * FROM ${rowsOf(OPEN)}`,
  specs: `INSERT INTO task_specs (${list(SPEC)}) SELECT * FROM ${rowsOf(SPEC)}`,
  claimed: `UPDATE tasks t SET ${assignments(CHANGING)} FROM ${rowsOf(UPDATE)}
    WHERE t.task_id = x.task_id AND t.tenant = x.tenant`,
  removed: `DELETE FROM tasks t USING ${rowsOf(TASK_KEY)} WHERE t.task_id = x.task_id AND t.tenant = x.tenant`,
  done: `INSERT INTO tasks_done (${list(DONE)}) SELECT * FROM ${rowsOf(DONE)}`,
  receipts: `INSERT INTO receipts (${list(RECEIPT)}) SELECT * FROM ${rowsOf(RECEIPT)}`,
  parents: `INSERT INTO receipt_parents (${list(PARENT)}) SELECT * FROM ${rowsOf(PARENT)}`,
  items: `INSERT INTO inbox (${list(FILED)}) SELECT * FROM ${rowsOf(FILED)}`,
  opened: `INSERT INTO open_obligations (${list(OBLIGATION)}) SELECT * FROM ${rowsOf(OBLIGATION)}`,
  closed: `DELETE FROM open_obligations o USING ${rowsOf(OBLIGATION_KEY)}
    WHERE o.tenant = x.tenant AND o.principal = x.principal AND o.seq = x.seq`,
} as const

const SETTINGS = `SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
  SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`

/**
 * Writes the rows of the engine directly: set-based statements in one pipeline per batch, without load rounds,
 * decisions or callers.
 */
export async function floorPostgres(
  url: string,
  sample: Sample,
  lifecycles: number,
  seconds: number,
): Promise<number> {
  const client = new pg.Client({ connectionString: url, pipeline: true })
  await client.connect()
  await client.query(SETTINGS)
  await client.query(`INSERT INTO tenants (name, salt) VALUES ('default', 's')`)
  const task = openRow(sample.created.task)
  const held = openRow(sample.claimed.task)
  const done = doneRow(sample.completed.task)
  const { principal } = sample.created.obligation
  const tenant = 1

  let count = 0
  const start = performance.now()
  for (const batch of floorBatches(sample, lifecycles)) {
    if (performance.now() - start > seconds * 1000) break
    const { created, claimed, completed } = batch
    const receipts = [...created, ...claimed, ...completed].flatMap((step) => step.receipts)
    const sent: Promise<unknown>[] = [client.query('BEGIN')]
    const send = <S extends Shape>(name: keyof typeof SQL, shape: S, rows: readonly RowOf<S>[]) => {
      if (rows.length > 0) sent.push(client.query({ name, text: SQL[name], values: parameters(shape, rows) }))
    }
    send(
      'tasks',
      OPEN,
      created.map(({ task_id, seq }) => ({ ...task, tenant, task_id, seq, rank: seq })),
    )
    send(
      'specs',
      SPEC,
      created.map(({ task_id, seq }) => ({ ...sample.created.spec, tenant, task_id, seq })),
    )
    send(
      'opened',
      OBLIGATION,
      created.map(({ task_id, seq }) => ({ tenant, principal, seq, task_id })),
    )
    send(
      'claimed',
      UPDATE,
      claimed.map(({ task_id }) => ({ ...held, tenant, task_id })),
    )
    send(
      'removed',
      TASK_KEY,
      completed.map(({ task_id }) => ({ tenant, task_id })),
    )
    send(
      'done',
      DONE,
      completed.map(({ task_id, seq }) => ({ ...done, tenant, task_id, seq })),
    )
    send(
      'closed',
      OBLIGATION_KEY,
      completed.map(({ seq }) => ({ tenant, principal, seq })),
    )
    send(
      'receipts',
      RECEIPT,
      receipts.map((receipt) => ({ ...receipt, tenant })),
    )
    send(
      'parents',
      PARENT,
      receipts.flatMap(({ seq, parents }) => parents.map((parent) => ({ tenant, child: seq, parent }))),
    )
    send(
      'items',
      FILED,
      receipts
        .filter(({ receipt_type }) => asksForAttention(receipt_type))
        .map(({ to, seq, created_at }) => ({ tenant, principal: to, seq, created_at })),
    )
    sent.push(client.query(`UPDATE tenants SET seq = ${batch.lastSeq} WHERE tenant = 1`))
    sent.push(client.query('COMMIT'))
    await Promise.all(sent)
    count += completed.length
  }
  const rate = count / ((performance.now() - start) / 1000)
  await client.end()
  return rate
}
