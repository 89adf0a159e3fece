import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { DoneTask, OpenTask, Task } from '../../../src/core/task.ts'
import {
  BOB,
  counters,
  done,
  lane,
  lease,
  leased,
  look,
  NOW,
  outcome,
  put,
  queued,
  running,
  spec,
  uuid,
  WEIRD_TEXTS,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

type Make<T> = (tenant: number) => T

const OPEN: readonly [string, Make<OpenTask>][] = [
  ['ready', (tenant) => queued({ tenant, seq: 1 })],
  ['delayed', (tenant) => queued({ tenant, seq: 1, next_eligible_at: NOW + 5_000 })],
  ['leased', (tenant) => leased({ tenant, seq: 1, lease: lease({ renewals: 4 }) })],
  ['running', (tenant) => running({ tenant, seq: 1 })],
  [
    'with every number set',
    (tenant) =>
      running({
        tenant,
        seq: 2 ** 43,
        lane: 20_000,
        pool: 19_999,
        rank: 2 ** 50,
        owner: BOB,
        principal_ai: 'someone else',
        attempt: 2,
        max_attempts: 9,
        expiry_count: 6,
        max_expiries: 8,
        retry_backoff_seconds: 86_400,
        timeout_seconds: 31_536_000,
        deadline_at: NOW + 31_536_000_000,
        fence: 7,
        progress_count: 11,
        updated_at: NOW + 12,
      }),
  ],
]

const DONE: readonly [string, Make<DoneTask>][] = [
  ['succeeded', (tenant) => done({ tenant, seq: 1 })],
  [
    'succeeded with every field',
    (tenant) =>
      done({
        tenant,
        seq: 1,
        attempt: 2,
        fence: 3,
        timeout_seconds: 60,
        deadline_at: NOW + 60_000,
        outcome: outcome({
          result: canonical('text'),
          delivery_proof: canonical({ mode: 'push', receipt: [1] }),
          receipt_seq: 2 ** 45,
          obligation_open: true,
          completed_at: NOW + 99,
        }),
      }),
  ],
  [
    'failed as a dead letter',
    (tenant) =>
      done({
        tenant,
        seq: 1,
        status: 'failed',
        started_at: null,
        outcome: outcome({
          result: null,
          error: canonical({ code: 'E', message: 'no' }),
          artifacts: null,
          dead_letter: true,
        }),
      }),
  ],
  [
    'canceled before any lease',
    (tenant) =>
      done({
        tenant,
        seq: 1,
        status: 'canceled',
        lease: null,
        started_at: null,
        outcome: outcome({ result: null, error: canonical({ code: 'canceled' }), artifacts: null }),
      }),
  ],
]

export function describeTasks(subject: Subject): void {
  const refs = (...tasks: Task[]) => ({
    tasks: tasks.map(({ tenant, task_id }) => ({ tenant, task_id })),
  })

  describe('tasks', () => {
    it.each(OPEN)('an open task is returned as stored: %s', async (_, make) => {
      const { store, tenant } = subject
      const task = make(tenant)
      const asked = spec({ tenant, seq: task.seq })
      await put(store, tenant, { inserted: [task], specs: [asked] })
      expect((await look(store, tenant, refs(task))).tasks).toEqual([task])
      expect(await store.reads.task(tenant, task.task_id)).toEqual({
        task,
        spec: asked,
        progress: null,
        questions: [],
      })
    })

    it.each(OPEN)('an update turns a held task into any other: %s', async (_, make) => {
      const { store, tenant } = subject
      const after = make(tenant)
      const before = running({ ...fixedPart(after), lease: lease({ lease_id: uuid(0xdef), renewals: 1 }) })
      await put(store, tenant, { inserted: [before] })
      await put(store, tenant, { updated: [after] })
      expect((await look(store, tenant, refs(after))).tasks).toEqual([after])
    })

    it.each(OPEN)('an update turns a ready task into any other: %s', async (_, make) => {
      const { store, tenant } = subject
      const after = make(tenant)
      await put(store, tenant, { inserted: [queued(fixedPart(after))] })
      await put(store, tenant, { updated: [after] })
      expect((await look(store, tenant, refs(after))).tasks).toEqual([after])
    })

    it.each(DONE)('an ended task is returned as stored: %s', async (_, make) => {
      const { store, tenant } = subject
      const task = make(tenant)
      const asked = spec({ tenant, seq: task.seq })
      await put(store, tenant, { finished: [task], specs: [asked] })
      expect((await look(store, tenant, refs(task))).tasks).toEqual([task])
      expect(await store.reads.task(tenant, task.task_id)).toEqual({
        task,
        spec: asked,
        progress: null,
        questions: [],
      })
    })

    it('an ended task is no longer found as an open one', async () => {
      const { store, tenant } = subject
      const lanes = [lane(tenant, 1, { type: null, mark: 0 }), lane(tenant, 2, { mark: 0 })]
      const ready = queued({ tenant, seq: 1 })
      const held = leased({ tenant, seq: 2, lease: lease({ expires_at: NOW }) })
      await put(store, tenant, {
        tenants: [counters(subject.ref, { open_tasks: 2 })],
        inserted: [ready, held],
        specs: [spec({ tenant, seq: 1 }), spec({ tenant, seq: 2 })],
        lanes,
      })
      const everywhere = {
        ...refs(ready, held),
        heads: [
          { tenant, lane: 1, pool: true, limit: 10 },
          { tenant, lane: 2, pool: false, limit: 10 },
        ],
        due: [{ tenant, limit: 10 }],
      }
      const before = await look(store, tenant, everywhere)
      expect(before.heads.map((head) => head.tasks)).toEqual([[ready], [ready]])
      expect(before.due).toEqual([held])

      const finished = [done({ tenant, seq: 1, lease: null, started_at: null }), done({ tenant, seq: 2 })]
      await put(store, tenant, { finished })
      const after = await look(store, tenant, everywhere)
      expect(after.tasks).toEqual(finished)
      expect(after.heads.map((head) => head.tasks)).toEqual([[], []])
      expect(after.due).toEqual([])
      expect(await store.due(10)).toEqual([])
      for (const status of ['queued', 'leased'] as const) {
        expect(await store.reads.scan(tenant, { by: 'status', status }, 100, 10)).toEqual([])
      }
    })

    it('added evidence changes an ended task', async () => {
      const { store, tenant } = subject
      const before = done({
        tenant,
        seq: 1,
        outcome: outcome({ artifacts: null, receipt_seq: 3, obligation_open: true }),
      })
      const bystander = done({ tenant, seq: 2, outcome: outcome({ obligation_open: true }) })
      await put(store, tenant, { finished: [before, bystander] })
      const after: DoneTask = {
        ...before,
        outcome: {
          ...before.outcome,
          artifacts: canonical([{ type: 'file' }]),
          delivery_proof: canonical({ mode: 'push' }),
          receipt_seq: 8,
          obligation_open: false,
        },
      }
      await put(store, tenant, { repaired: [after] })
      expect((await look(store, tenant, refs(before, bystander))).tasks).toEqual([after, bystander])
    })

    it('the same id in two tenants names two tasks', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const mine = queued({ tenant, seq: 1 })
      const theirs = queued({ tenant: other, seq: 1, rank: 5 })
      await put(store, [tenant, other], { inserted: [mine, theirs] })
      const claimed = leased({ tenant, seq: 1 })
      await put(store, tenant, { updated: [claimed] })
      expect((await look(store, tenant, refs(claimed))).tasks).toEqual([claimed])
      expect((await look(store, other, refs(theirs))).tasks).toEqual([theirs])
      await put(store, tenant, { finished: [done({ tenant, seq: 1 })] })
      expect((await look(store, other, refs(theirs))).tasks).toEqual([theirs])
    })

    it('open and ended tasks are found together, and missing ones are omitted', async () => {
      const { store, tenant } = subject
      const open = queued({ tenant, seq: 1 })
      const ended = done({ tenant, seq: 2, status: 'canceled', outcome: outcome({ error: canonical({}) }) })
      await put(store, tenant, {
        inserted: [open],
        finished: [ended],
        specs: [spec({ tenant, seq: 1 }), spec({ tenant, seq: 2 })],
      })
      const ids = [uuid(1), uuid(2), uuid(3)]
      const loaded = await look(store, tenant, { tasks: ids.map((task_id) => ({ tenant, task_id })) })
      expect(loaded.tasks).toHaveLength(2)
      expect(loaded.tasks).toEqual(expect.arrayContaining([open, ended]))

      const records = await store.reads.tasks(tenant, ids)
      expect(records.map(({ task }) => task.seq).sort()).toEqual([1, 2])
      expect(records.map((record) => record.spec.seq).sort()).toEqual([1, 2])
      expect(await store.reads.task(tenant, uuid(3))).toBeUndefined()

      const statuses = await store.reads.statuses(tenant, ids)
      expect(statuses.sort((a, b) => a.task_id.localeCompare(b.task_id))).toEqual([
        { task_id: uuid(1), status: 'queued' },
        { task_id: uuid(2), status: 'canceled' },
      ])
    })

    it('tasks preserve every text exactly', async () => {
      const { store, tenant } = subject
      const tasks = WEIRD_TEXTS.map((text, n) =>
        running({
          tenant,
          seq: n + 1,
          owner: `agent:${text}`,
          principal_ai: text,
          lease: lease({ holder: `worker:${text}`, worker_id: text }),
        }),
      )
      const specs = WEIRD_TEXTS.map((text, n) =>
        spec({
          tenant,
          seq: n + 1,
          owner: `agent:${text}`,
          type: text,
          session_id: text,
          labels: canonical({ [text]: text }),
          idempotency_key: text,
          instance: text,
          input: canonical(text),
        }),
      )
      await put(store, tenant, { inserted: tasks, specs })
      expect((await look(store, tenant, refs(...tasks))).tasks).toEqual(tasks)
      const records = await store.reads.tasks(
        tenant,
        tasks.map((task) => task.task_id),
      )
      expect(records.map((record) => record.spec).sort((a, b) => a.seq - b.seq)).toEqual(specs)

      const finished = tasks.map((task, n) => {
        const text = canonical(WEIRD_TEXTS[n])
        const texts = { result: text, artifacts: text, delivery_proof: text }
        return done({ tenant, seq: task.seq, outcome: outcome(texts) })
      })
      await put(store, tenant, { finished })
      expect((await look(store, tenant, refs(...finished))).tasks).toEqual(finished)
    })

    it('a megabyte of input and of result is stored in full', async () => {
      const { store, tenant } = subject
      const large = canonical('🦀"\\'.repeat(200_000))
      const asked = spec({ tenant, seq: 1, input: large })
      const task = done({ tenant, seq: 1, outcome: outcome({ result: large }) })
      await put(store, tenant, { finished: [task], specs: [asked] })
      const record = await store.reads.task(tenant, task.task_id)
      expect(record?.spec.input === large).toBe(true)
      expect(record?.task.status === 'succeeded' && record.task.outcome.result === large).toBe(true)
    })
  })
}

/** The fields that an update does not change. */
function fixedPart(task: OpenTask) {
  const { tenant, task_id, seq, lane, pool, rank, owner, principal_ai } = task
  const { max_attempts, max_expiries, retry_backoff_seconds, timeout_seconds, deadline_at } = task
  const names = { tenant, task_id, seq, lane, pool, rank, owner, principal_ai }
  return { ...names, max_attempts, max_expiries, retry_backoff_seconds, timeout_seconds, deadline_at }
}
