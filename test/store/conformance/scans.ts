import { beforeEach, describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { DoneTask, OpenTask } from '../../../src/core/task.ts'
import { isTerminal, STATUSES } from '../../../src/core/transitions.ts'
import { QUESTION_BYTES, type ScanPath, type TaskLine } from '../../../src/store/reads.ts'
import {
  ALICE,
  BOB,
  done,
  leased,
  outcome,
  parked,
  progress,
  put,
  queued,
  running,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const COUNT = 48

/** The expected `bytes` of a line. */
function bytesOf({ seq, status }: TaskLine): number {
  const input = spec({ tenant: 1, seq }).input.length
  if (status === 'pending_approval' || status === 'input_required') return input + QUESTION_BYTES
  if (!isTerminal(status)) return input
  const { result, error, artifacts, delivery_proof } =
    status === 'succeeded' ? outcome() : outcome({ error: canonical({ code: 'x' }) })
  return input + (result?.length ?? 0) + JSON.stringify([error, artifacts, delivery_proof]).length
}

/** The worker of the fixtures: it holds tasks and has ended those that have ended. */
function workerOf({ status }: TaskLine): string | null {
  return ['queued', 'pending_approval', 'input_required'].includes(status) ? null : 'w1'
}

export function describeScans(subject: Subject): void {
  describe('scans', () => {
    /** The lines of all tasks, newest first. */
    let lines: TaskLine[]

    beforeEach(async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const open: OpenTask[] = []
      const ended: DoneTask[] = []
      lines = []
      for (let seq = 1; seq <= COUNT; seq++) {
        const line: TaskLine = {
          seq,
          task_id: uuid(seq),
          status: STATUSES[seq % STATUSES.length] ?? 'queued',
          owner: seq % 5 === 0 ? BOB : ALICE,
          type: `type-${seq % 2}`,
          session_id: seq % 7 === 0 ? 'session' : seq % 7 === 1 ? 'another' : null,
          labels: seq % 3 === 0 ? canonical({ team: 'a' }) : null,
          principal_ai: 'alice',
          worker_id: null,
          bytes: 0,
        }
        lines.unshift({ ...line, worker_id: workerOf(line), bytes: bytesOf(line) })
        const name = { tenant, seq, owner: line.owner }
        const error = canonical({ code: 'x' })
        switch (line.status) {
          case 'queued':
            open.push(queued({ ...name, next_eligible_at: seq % 4 === 0 ? 5 : null }))
            break
          case 'leased':
            open.push(leased(name))
            break
          case 'running':
            open.push(running(name))
            break
          case 'pending_approval':
          case 'input_required':
            open.push(parked({ ...name, status: line.status }))
            break
          case 'succeeded':
            ended.push(done(name))
            break
          default:
            ended.push(done({ ...name, status: line.status, outcome: outcome({ error }) }))
        }
      }
      const specs = lines
        .toReversed()
        .map(({ status: _, principal_ai: __, bytes: ___, worker_id: ____, ...line }) =>
          spec({ tenant, ...line }),
        )
      await put(store, [tenant, other], {
        inserted: [...open, queued({ tenant: other, seq: 1 })],
        finished: ended,
        specs: [...specs, spec({ tenant: other, seq: 1, session_id: 'session' })],
      })
    })

    const paths: [string, ScanPath, (line: TaskLine) => boolean][] = [
      ['all', { by: 'all' }, () => true],
      ['an owner', { by: 'owner', owner: BOB }, (line) => line.owner === BOB],
      ['an owner without tasks', { by: 'owner', owner: 'agent:absent' }, () => false],
      ['a session', { by: 'session', session_id: 'session' }, (line) => line.session_id === 'session'],
      ['an unknown session', { by: 'session', session_id: '' }, () => false],
      ...STATUSES.map((status): [string, ScanPath, (line: TaskLine) => boolean] => [
        status,
        { by: 'status', status },
        (line) => line.status === status,
      ]),
    ]

    it.each(paths)('a scan returns every matching task once, newest first: %s', async (_, path, fits) => {
      const { store, tenant } = subject
      const found: TaskLine[] = []
      let before = Number.MAX_SAFE_INTEGER
      for (;;) {
        const page = await store.reads.scan(tenant, path, before, 2)
        found.push(...page)
        before = page.at(-1)?.seq ?? before
        if (page.length < 2) break
      }
      expect(found).toEqual(lines.filter(fits))
    })

    it.each(paths)('a scan begins below the given seq: %s', async (_, path, fits) => {
      const { store, tenant } = subject
      const found = await store.reads.scan(tenant, path, 20, 1_000)
      expect(found).toEqual(lines.filter((line) => line.seq < 20).filter(fits))
    })

    it('statusCounts counts each status of one tenant up to the limit', async () => {
      const { store, tenant } = subject
      const each = (n: number) => Object.fromEntries(STATUSES.map((status) => [status, n]))
      const inAll = COUNT / STATUSES.length
      expect(await store.reads.statusCounts(tenant, 1_000)).toEqual(each(inAll))
      expect(await store.reads.statusCounts(tenant, inAll - 1)).toEqual(each(inAll - 1))
      const { tenant: other } = await store.tenant('other')
      expect(await store.reads.statusCounts(other, 1_000)).toEqual({ ...each(0), queued: 1 })
    })

    it('lines returns the same rows for given tasks', async () => {
      const { store, tenant } = subject
      const ids = [uuid(48), uuid(7), uuid(999), uuid(1), 'none']
      const found = await store.reads.lines(tenant, ids)
      expect(found.sort((a, b) => b.seq - a.seq)).toEqual(
        lines.filter(({ seq }) => seq === 48 || seq === 7 || seq === 1),
      )
    })

    it('texts returns the input and the error of given tasks', async () => {
      const { store, tenant } = subject
      const seqs = [1, 6, 7, 999]
      const found = (await store.reads.texts(tenant, seqs)).sort((a, b) => a.seq - b.seq)
      const error = canonical({ code: 'x' })
      const inputOf = (seq: number) => spec({ tenant, seq }).input
      expect(found).toEqual([
        { seq: 1, input: inputOf(1), error: null },
        { seq: 6, input: inputOf(6), error },
        { seq: 7, input: inputOf(7), error },
      ])
      const { tenant: other } = await store.tenant('other')
      expect(await store.reads.texts(other, [6])).toEqual([])
      expect(await store.reads.texts(tenant, [])).toEqual([])
    })

    it('a scan shows the status after a change', async () => {
      const { store, tenant } = subject
      await put(store, tenant, {
        finished: [done({ tenant, seq: 1 })],
        updated: [leased({ tenant, seq: 8 })],
      })
      const all = await store.reads.scan(tenant, { by: 'all' }, 9, 10)
      expect(all.map((line) => [line.seq, line.status])).toEqual([
        [8, 'leased'],
        [7, 'canceled'],
        [6, 'failed'],
        [5, 'succeeded'],
        [4, 'input_required'],
        [3, 'pending_approval'],
        [2, 'running'],
        [1, 'succeeded'],
      ])
      const queuedOnes = await store.reads.scan(tenant, { by: 'status', status: 'queued' }, 17, 10)
      expect(queuedOnes.map((line) => line.seq)).toEqual([16])
    })
  })

  describe('progress', () => {
    it('progress is returned oldest first, and a task shows the latest', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const entries = [3, 1, 2, 11].map((n) => progress(tenant, uuid(1), n))
      await put(store, [tenant, other], {
        inserted: [
          running({ tenant, seq: 1, progress_count: 11 }),
          running({ tenant, seq: 2, progress_count: 1 }),
          running({ tenant: other, seq: 1, progress_count: 99 }),
        ],
        specs: [spec({ tenant, seq: 1 }), spec({ tenant, seq: 2 }), spec({ tenant: other, seq: 1 })],
        progress: [...entries, progress(tenant, uuid(2), 1), progress(other, uuid(1), 99)],
      })
      const [third, first, second, last] = entries
      expect(await store.reads.progress(tenant, uuid(1), 0, 10)).toEqual([first, second, third, last])
      expect(await store.reads.progress(tenant, uuid(1), 0, 2)).toEqual([first, second])
      expect(await store.reads.progress(tenant, uuid(1), second?.n ?? 0, 2)).toEqual([third, last])
      expect(await store.reads.progress(tenant, uuid(3), 0, 10)).toEqual([])
      expect((await store.reads.task(tenant, uuid(1)))?.progress).toEqual(last)
      const records = await store.reads.tasks(tenant, [uuid(1), uuid(2)])
      expect(records.map((record) => record.progress?.n).sort()).toEqual([1, 11])
    })
  })
}
