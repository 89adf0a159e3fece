import type pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { STATUSES } from '../../../src/core/transitions.ts'
import type { AuditRows } from '../../../src/store/audit.ts'
import type { Logs } from '../../../src/store/entries.ts'
import type { Erasure } from '../../../src/store/erasure.ts'
import { type HistoryRows, STEPS } from '../../../src/store/history.ts'
import type { LedgerLog } from '../../../src/store/ledger-log.ts'
import type { OutboxRows } from '../../../src/store/outbox.ts'
import { auditOn, auditQueries } from '../../../src/store/postgres/audit.ts'
import { commit } from '../../../src/store/postgres/commit.ts'
import { connectTo, end } from '../../../src/store/postgres/database.ts'
import { erasureQueries, postgresErasure } from '../../../src/store/postgres/erasure.ts'
import { historyOn, historyQueries } from '../../../src/store/postgres/history.ts'
import { inboxQueries, inboxReadsOn } from '../../../src/store/postgres/inbox.ts'
import { ledgerLogOn, ledgerLogQueries } from '../../../src/store/postgres/ledger-log.ts'
import { loads } from '../../../src/store/postgres/load.ts'
import { logQueries, logsOn } from '../../../src/store/postgres/logs.ts'
import { outboxOn, outboxQueries } from '../../../src/store/postgres/outbox.ts'
import { queries } from '../../../src/store/postgres/queries.ts'
import { questionQueries, questionReadsOn } from '../../../src/store/postgres/questions.ts'
import { findDue, findNextWake, readsOn } from '../../../src/store/postgres/reads.ts'
import { postgresRetention } from '../../../src/store/postgres/retention.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { usageOn, usageQueries } from '../../../src/store/postgres/usage.ts'
import { writes } from '../../../src/store/postgres/write.ts'
import type { Retention } from '../../../src/store/retention.ts'
import { type Changes, type Need, NO_NEED } from '../../../src/store/store.ts'
import { HOUR_MS, type UsageRows } from '../../../src/store/usage.ts'
import { cryptoRandom } from '../../../src/util/random.ts'
import { type Cost, explainEverything, readCost } from '../../support/auto-explain.ts'
import {
  ALICE,
  BOB,
  counters,
  done,
  item,
  lane,
  leased,
  NO_CHANGES,
  outcome,
  parked,
  progress,
  question,
  queued,
  receipt,
  running,
  spec,
  uuid,
  WORKER,
} from '../../support/fixtures.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../../support/postgres.ts'
import { auditRow } from '../conformance/audit.ts'
import { historyPeriod } from '../conformance/history.ts'
import { usageEvent } from '../conformance/usage.ts'

const STORED = 5_000
const BATCH = 16
const POOL = 1
const LANES = 40

const VERDICT = { state: 'approved', decided_by: ALICE, decided_at: 1, decided_seq: 1 } as const

const laneOf = (seq: number) => POOL + 1 + (seq % LANES)

const NAMES = new Map(
  Object.entries({
    ...loads,
    ...writes,
    ...queries,
    ...inboxQueries,
    ...questionQueries,
    ...logQueries,
    ...auditQueries,
    ...erasureQueries,
    ...usageQueries,
    ...historyQueries,
    ...outboxQueries,
    ...ledgerLogQueries,
  }).map(([name, text]) => [text, name]),
)

const AROUND = {
  now: undefined,
  catchUp: async () => {},
  listener: { token: 'test', encode: () => [] },
  random: cryptoRandom(),
}
/** The lanes of these tasks, as changed by a batch. */
const counted = (tenant: number, seqs: readonly number[], version: number) =>
  [...new Set(seqs.map(laneOf))].map((number) => lane(tenant, number, { mark: 0, tasks: 1, version }))

type Login = (url: string) => string | Promise<string>
const asSuperuser: Login = (url) => url

/** Far more than any statement needs, and far less than reading everything stored. */
function isWasteful({ touched, buffers, visited }: Omit<Cost, 'text'>): boolean {
  return buffers > 20 * touched + 40 || visited > 8 * touched + 20
}

/** One connection of each kind that the store uses, and the cost of the statements executed on them. */
async function openConnections(url: string) {
  const store = await openPostgresStore({ url })
  const ref = await store.tenant('test')
  await store.close()
  const { client: connect, pool, liveness } = connectTo(url)
  const writer = await connect()
  const costs: Cost[] = []
  const watch = (client: pg.ClientBase) =>
    client.on('notice', ({ message }) => {
      const cost = readCost(message ?? '')
      if (cost !== undefined) costs.push(cost)
    })
  watch(writer)
  pool.on('connect', watch)
  const close = async () => {
    await Promise.all([end(writer), pool.end()])
  }
  return { ref, writer, pooled: { pool, liveness }, costs, close }
}

type Connections = Awaited<ReturnType<typeof openConnections>>

/** Commands through the whole life of the tasks with these seqs, covering every statement of a batch. */
async function live({ ref, writer }: Connections, seqs: readonly number[]): Promise<void> {
  const { tenant } = ref
  const run = async (need: Partial<Need>, changes: Partial<Changes>) => {
    const decide = () => ({ ...NO_CHANGES, tenants: [counters(ref, { open_tasks: 1 })], ...changes })
    await commit(writer, { ...NO_NEED, tenants: [tenant], ...need }, decide, AROUND)
  }
  const tasks = seqs.map((seq) => ({ tenant, task_id: uuid(seq) }))
  const receipts = (step: number) =>
    seqs.map((seq) =>
      receipt({
        tenant,
        seq: step * 1_000_000 + seq,
        to: ALICE,
        task_id: uuid(seq),
        parents: step > 0 ? [seq] : [],
      }),
    )
  const place = (seq: number) => ({ tenant, seq, lane: laneOf(seq), pool: POOL })

  await run(
    {
      keys: seqs.map((seq) => ({ tenant, owner: ALICE, idempotency_key: `${seq}` })),
      owners: [{ tenant, owner: ALICE }],
    },
    {
      inserted: seqs.map((seq) => queued(place(seq))),
      specs: seqs.map((seq) => spec({ tenant, seq, idempotency_key: `${seq}`, session_id: `${seq % 3}` })),
      receipts: receipts(0),
      opened: seqs.map((seq) => ({ tenant, principal: ALICE, seq, task_id: uuid(seq) })),
      owners: [{ tenant, owner: ALICE, last_rank: 1, weight: 1 }],
      counted: counted(tenant, seqs, 2),
    },
  )
  await run(
    {
      heads: [
        ...[1, 2, 3].map((n) => ({ tenant, lane: laneOf(n), pool: false, limit: BATCH })),
        { tenant, lane: POOL, pool: true, limit: BATCH },
      ],
      due: [{ tenant, limit: 100 }],
      lanes: [{ tenant, after: 1 }],
      tasks,
    },
    {
      updated: seqs.map((seq) => leased(place(seq))),
      receipts: receipts(1),
      counted: counted(tenant, seqs, 3),
      granted: seqs.map((seq) => ({ tenant, seq })),
    },
  )
  await run(
    { tasks },
    {
      updated: seqs.map((seq) => running(place(seq))),
      // So many reports that earlier ones are removed.
      progress: seqs.flatMap((seq) => [1, 300].map((n) => progress(tenant, uuid(seq), n))),
      receipts: receipts(2),
    },
  )
  const links = seqs.map((seq) => ({ tenant, seq, task_id: uuid(seq + 1), n: 1, effect: 'cancel' as const }))
  const parents = seqs.map((seq) => ({ tenant, seq, task_id: uuid(seq) }))
  const counts = { total: 1, succeeded: 0, failed: 0, canceled: 0 }
  await run(
    {},
    {
      linked: links,
      child_tasks: seqs.map((seq) => ({ tenant, parent: seq, seq: seq + 1, task_id: uuid(seq + 1) })),
      child_counts: seqs.map((seq) => ({ tenant, parent: seq, ...counts })),
      unsettled: parents,
    },
  )
  await run({ links: seqs.map((seq) => ({ tenant, seq })) }, { followed: links, settled: parents })
  const questions = seqs.map((seq) => question({ tenant, seq: 5_000_000 + seq, task_id: uuid(seq) }))
  await run({ tasks, questions: tasks }, { updated: seqs.map((seq) => parked(place(seq))), asked: questions })
  await run(
    { tasks, questions: tasks },
    {
      updated: seqs.map((seq) => running({ ...place(seq), question_count: 1 })),
      decided: questions.map((asked) => ({ ...asked, ...VERDICT })),
      answered: tasks,
    },
  )
  await run(
    { tasks },
    {
      finished: seqs.map((seq) =>
        done({ ...place(seq), question_count: 1, progress_count: 1, outcome: outcome({ artifacts: null }) }),
      ),
      closed: seqs.map((seq) => ({ tenant, principal: ALICE, seq, task_id: uuid(seq) })),
      receipts: receipts(3),
      filed: seqs.map((seq) => item(tenant, 3_000_000 + seq)),
      opened: seqs.map((seq) => ({ tenant, principal: BOB, seq, task_id: uuid(seq) })),
    },
  )
  await run(
    { tasks },
    {
      repaired: seqs.map((seq) => done({ ...place(seq), progress_count: 1 })),
      closed: seqs.map((seq) => ({ tenant, principal: BOB, seq, task_id: uuid(seq) })),
      // Without the rows of their tasks.
      receipts: seqs.map((seq) => {
        const over = {
          receipt_type: 'receipt.acknowledged',
          from: WORKER,
          to: ALICE,
          parents: [seq],
        } as const
        return receipt({ tenant, seq: 4_000_000 + seq, task_id: uuid(700_000 + seq), ...over })
      }),
    },
  )
  await run(
    {
      receipts: seqs.map((seq) => ({ tenant, seq })),
      children: seqs.map((seq) => ({ tenant, parent: seq, receipt_type: 'receipt.acknowledged' as const })),
      acknowledgements: seqs.map((seq) => ({ tenant, seq, by: WORKER })),
      relationships: [{ tenant, principal: ALICE }],
      items: seqs.map((seq) => ({ tenant, principal: ALICE, seq: 3_000_000 + seq })),
    },
    {
      relationships: [
        {
          tenant,
          principal: ALICE,
          instance_id: null,
          first_seen_at: 1,
          last_seen_at: 1,
          sessions_count: 1,
          agent_version: null,
          client_capabilities: null,
          instances: null,
        },
      ],
      marked: seqs.map((seq) => item(tenant, 3_000_000 + seq, { delivered_at: 1, delivery_count: 1 })),
    },
  )
  // One item remains, so that a row of unread ones is changed, and then removed.
  const items = seqs.map((seq) => ({ tenant, principal: ALICE, seq: 3_000_000 + seq }))
  const read = items.map(({ seq }) => item(tenant, seq, { delivered_at: 1, delivery_count: 1, read_at: 2 }))
  if (read.length > 1) await run({ items }, { marked: read.slice(1) })
  await run({ items }, { marked: read.slice(0, 1) })
}

/** Reads the log of each task and appends a line. */
async function useLogs(logs: Logs, tenant: number, seqs: readonly number[]): Promise<void> {
  for (const seq of seqs) {
    const task_id = uuid(seq)
    const last = await logs.last(tenant, task_id)
    const n = (last?.n ?? 0) + 1
    const lease_id = uuid(seq)
    const rest = { level: 'info', text: 'x', context: null, total: n, is_last: false } as const
    await logs.add([{ tenant, task_id, n, at: 1, lease_id, ...rest }])
    await logs.list(tenant, task_id, 0, BATCH)
  }
}

/** Adds events, reads them and removes them. */
async function useAudit(audit: AuditRows, tenant: number, seqs: readonly number[]): Promise<void> {
  await audit.add(
    tenant,
    seqs.map((seq) => auditRow(tenant, seq)),
  )
  await audit.list(tenant, '', 'f', BATCH)
  await audit.removeBefore(tenant, 'f', seqs.length)
}

/** Erases receipts and tasks. */
async function useErasure(erasure: Erasure, tenant: number, seqs: readonly number[]): Promise<void> {
  await erasure.receipts(tenant, 0, BATCH, ({ seq }) => seqs.includes(seq), 1)
  for (const seq of seqs) await erasure.task(done({ tenant, seq }), spec({ tenant, seq }), 1)
  await erasure.relationship(tenant, 'agent:nobody')
}

/** Adds events of as many hours, reads their sums, marks one as sent and removes them. */
async function useUsage(usage: UsageRows, tenant: number, seqs: readonly number[]): Promise<void> {
  for (const seq of seqs) await usage.add(usageEvent(tenant, seq, { from_at: seq * HOUR_MS }), true)
  await usage.hours(tenant, 0, BATCH * HOUR_MS)
  await usage.receiptBytesBefore(tenant, BATCH * HOUR_MS)
  await usage.unsent(tenant, 1)
  await usage.sent(tenant, usageEvent(tenant, seqs[0] ?? 0).id)
  await usage.removeBefore(tenant, 'f', seqs.length)
}

/** Adds as many minutes of the history, reads them and removes them. */
async function useHistory(history: HistoryRows, tenant: number, seqs: readonly number[]): Promise<void> {
  await history.add(
    tenant,
    seqs.map((seq) => historyPeriod('minute', seq * STEPS.minute)),
  )
  await history.read(tenant, 'minute', 0, BATCH * STEPS.minute)
  await history.removeBefore(tenant, 'minute', Number.MAX_SAFE_INTEGER, seqs.length)
}

/** Adds receipts to the outbox, and goes through the life of one. */
async function useOutbox(outbox: OutboxRows, tenant: number, seqs: readonly number[]): Promise<void> {
  const [first = 0] = seqs
  await outbox.advance(tenant, 0, 0, [])
  const from = await outbox.cursor(tenant)
  await outbox.advance(
    tenant,
    from,
    from + 1,
    seqs.map((seq) => ({ seq, task_id: uuid(seq) })),
  )
  await outbox.due(tenant, 1, 1)
  await outbox.render(tenant, first, 'text', null)
  await outbox.update(tenant, first, { state: 'set_aside', tries: 1, next_try_at: 0, reason: 'x' })
  await outbox.setAside(tenant, 0, 1)
  await outbox.ofTask(tenant, uuid(first))
  await outbox.counts(tenant, 1)
  await outbox.requeue(tenant, false)
  for (const seq of seqs) await outbox.remove(tenant, seq)
}

/** Stores tiles and checkpoints, and reads them. */
async function useLedgerLog(log: LedgerLog, tenant: number): Promise<void> {
  const tile = (n: number) => ({ level: 0, n, hashes: Buffer.alloc(64 * 32) })
  for (let n = 1; n <= 3; n++) {
    await log.append(tenant, [tile(n), tile(n + 1)], { size: n, created_at: n, note: 'x' }, n - 1)
  }
  await log.tiles(tenant, [tile(1), tile(2)])
  await log.latest(tenant)
  await log.checkpoints(tenant, 0, 1)
  await log.leaves({ tenant, name: 'default', salt: '' }, 0, 1)
  await log.listTiles(tenant, undefined, 1)
  await log.treeSize(tenant)
  await log.repairTiles(tenant, [
    { ...tile(1), before: tile(1).hashes, after: tile(1).hashes },
    { ...tile(9), before: undefined, after: tile(9).hashes },
  ])
  await log.receipt(tenant, 1)
}

/** Archives ended tasks, and finds the archive. */
async function useRetention(retention: Retention, tenant: number): Promise<void> {
  const tasks = await retention.ended(tenant, 'succeeded', 0, BATCH)
  await retention.schedule(
    tenant,
    tasks.map(({ task }) => ({ task, at: 1 })),
  )
  await retention.dueCounts(tenant, 1, BATCH)
  const due = await retention.due(tenant, 1, BATCH)
  for (const each of due) await retention.cleared(each, 1, 1)
  await retention.strays(tenant, 0, 1, BATCH)
  const collected = await retention.collect(tenant, due)
  await retention.archive(tenant, collected, `${due[0]?.task.seq}`, 1)
  await retention.archiveWith(tenant, 1)
  await retention.archives(tenant, 0, 'ascending', BATCH)
  await retention.archives(tenant, Number.MAX_SAFE_INTEGER, 'descending', BATCH)
}

/** Every kind of read, of a few rows each. */
async function readAll({ ref: { tenant }, pooled }: Connections, seqs: readonly number[]): Promise<void> {
  const reads = { ...readsOn(pooled), ...inboxReadsOn(pooled), ...questionReadsOn(pooled) }
  const newest = Number.MAX_SAFE_INTEGER
  const ids = seqs.map(uuid)
  await findDue(pooled, BATCH, null)
  await reads.tasks(tenant, ids)
  await reads.state(tenant, uuid(seqs[0] ?? 0))
  await useLogs(logsOn(pooled), tenant, seqs)
  await useAudit(auditOn(pooled), tenant, seqs)
  await useErasure(postgresErasure(pooled), tenant, seqs)
  await useUsage(usageOn(pooled), tenant, seqs)
  await useHistory(historyOn(pooled), tenant, seqs)
  await useOutbox(outboxOn(pooled), tenant, seqs)
  await useLedgerLog(ledgerLogOn(pooled), tenant)
  await reads.statuses(tenant, ids)
  await reads.lines(tenant, ids)
  await reads.progress(tenant, uuid(seqs[0] ?? 0), 0, BATCH)
  for (const path of [
    { by: 'all' },
    { by: 'owner', owner: ALICE },
    { by: 'session', session_id: '1' },
    ...STATUSES.map((status) => ({ by: 'status', status }) as const),
  ] as const) {
    await reads.scan(tenant, path, newest, BATCH)
  }
  await reads.texts(tenant, seqs)
  await reads.statusCounts(tenant, BATCH)
  for (const path of [{ by: 'all' }, { by: 'to', to: ALICE }, { by: 'task', task_id: uuid(1) }] as const) {
    await reads.receipts(tenant, path, 0, 'ascending', BATCH)
    await reads.receipts(tenant, path, newest, 'descending', BATCH)
    await reads.receiptLines(tenant, path, 0, 'ascending', BATCH)
    await reads.receiptLines(tenant, path, newest, 'descending', BATCH)
  }
  await reads.receipt(tenant, 1)
  await reads.children(tenant, seqs, ['task.assigned'])
  await reads.receiptsAt(tenant, seqs)
  const items = seqs.map((seq) => ({ principal: ALICE, seq: 3_000_000 + seq }))
  await reads.items(tenant, items)
  for (const which of ['all', 'unread'] as const) {
    await reads.inbox(tenant, ALICE, which, 0, 'ascending', BATCH)
    await reads.inbox(tenant, ALICE, which, newest, 'descending', BATCH)
  }
  await reads.openQuestions(tenant)
  for (const which of ['all', 'open'] as const) {
    await reads.questions(tenant, 'approval', which, 0, 'ascending', BATCH)
    await reads.questions(tenant, 'approval', which, newest, 'descending', BATCH)
    await reads.questionLines(tenant, 'approval', which, 0, 'ascending', BATCH)
    await reads.questionLines(tenant, 'approval', which, newest, 'descending', BATCH)
  }
  await reads.itemsOfTasks(tenant, null, ids, ['task.assigned'], 1)
  await reads.inboxCounts(tenant, ALICE, 0, BATCH)
  await reads.obligations(tenant, ALICE, 0, BATCH)
  await reads.obligationLines(tenant, ALICE, 0, BATCH)
  await reads.relationship(tenant, ALICE)
  await reads.counters(tenant)
  await reads.lanes(tenant, 1)
  await findNextWake(pooled, tenant, null)
  await reads.headOfLine(tenant)
  await reads.holders(tenant)
  await reads.leasesOf(tenant, 'worker:w1', 'w1', 'i2', BATCH)
  await reads.taskLease(tenant, seqs[0] ?? 0)
  await reads.hadLease(tenant, uuid(1), uuid(1), BATCH)
  await useRetention(postgresRetention(pooled), tenant)
}

/** Ready tasks that are never claimed, with their rows in other tables. */
async function store({ ref, writer }: Connections, seqs: readonly number[]): Promise<void> {
  const { tenant } = ref
  const changes = {
    ...NO_CHANGES,
    inserted: seqs.map((seq) => queued({ tenant, seq, lane: laneOf(seq), pool: POOL })),
    specs: seqs.map((seq) => spec({ tenant, seq, idempotency_key: `${seq}`, session_id: `${seq % 3}` })),
    receipts: seqs.map((seq) => receipt({ tenant, seq, to: ALICE, task_id: uuid(seq) })),
    opened: seqs.map((seq) => ({ tenant, principal: ALICE, seq, task_id: uuid(seq) })),
    filed: seqs.map((seq) => item(tenant, seq)),
    asked: seqs.map((seq) => question({ tenant, seq, task_id: uuid(seq), ...VERDICT })),
  }
  await commit(writer, { ...NO_NEED, tenants: [tenant] }, () => changes, AROUND)
}

async function makeLanes({ ref, writer }: Connections): Promise<void> {
  const { tenant } = ref
  const lanes = range(POOL, POOL + LANES).map((number) =>
    lane(tenant, number, { mark: 0, ...(number === POOL && { type: null }) }),
  )
  const changes = { ...NO_CHANGES, lanes }
  await commit(writer, { ...NO_NEED, tenants: [tenant] }, () => changes, AROUND)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n)
}

describe.skipIf(!postgresUrl())('cost of statements', () => {
  let cleanup: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const clean of cleanup.reverse()) await clean()
    cleanup = []
  })

  const connect = async (login: Login) => {
    const database = await freshDatabase('plans')
    cleanup.push(database.drop)
    await explainEverything(database.url)
    const connections = await openConnections(await login(database.url))
    cleanup.push(connections.close)
    return connections
  }

  describe.each([
    ['as superuser', asSuperuser],
    ['under row-level security', restrictedRole],
  ])('statements %s', (_, login) => {
    it.each(['never', 'while they were empty', 'when they were full'])(
      'statements read only the rows they need with tables analyzed %s',
      async (analyzed) => {
        const connections = await connect(login)
        const { writer, costs } = connections
        if (analyzed === 'while they were empty') await writer.query('ANALYZE')
        // Plans are cached now, while the tables are almost empty.
        await makeLanes(connections)
        await live(connections, [1, 2])
        await readAll(connections, [1, 2])
        for (let seq = 1_001; seq < 1_001 + STORED; seq += 500)
          await store(connections, range(seq, seq + 499))
        if (analyzed === 'when they were full') await writer.query('ANALYZE')

        costs.length = 0
        const seqs = range(101, 100 + BATCH)
        await live(connections, seqs)
        await readAll(connections, seqs)
        const named = costs.map(({ text, ...cost }) => ({ name: NAMES.get(text) ?? text, ...cost }))
        expect(named.filter(isWasteful)).toEqual([])
        const executed = new Set(named.map(({ name }) => name))
        expect([...NAMES.values()].filter((name) => !executed.has(name))).toEqual(['upsert_lanes'])
      },
    )
  })

  it('a statement that reads a whole table is detected', async () => {
    const connections = await connect(asSuperuser)
    const { ref, writer, costs } = connections
    await store(connections, range(1, STORED))
    costs.length = 0
    await writer.query('SELECT count(*) FROM tasks')
    await writer.query('SELECT * FROM tasks WHERE tenant = $1 AND owner = $2 LIMIT 1', [ref.tenant, 'absent'])
    expect(costs.map(isWasteful)).toEqual([true, true])
  })
})
