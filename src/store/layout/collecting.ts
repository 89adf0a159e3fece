import { taskSeq } from '../../core/ids.ts'
import type { Collected, EndedTask, SaltedReceipt, Strays } from '../retention.ts'
import { OpenSegment, type Segment } from './segments.ts'
import { one, type Step, type Work } from './steps.ts'

const SEGMENT = 'tenant, first, created_at, instance, receipts'

export const COLLECT_STATEMENTS = {
  task_receipts: 'SELECT seq FROM task_receipts WHERE tenant = ? AND task_id = ? ORDER BY seq',
  segment_with: `SELECT ${SEGMENT} FROM ledger WHERE tenant = ? AND first <= ? ORDER BY first DESC LIMIT 1`,
  next_segments: `SELECT ${SEGMENT} FROM ledger WHERE tenant = ? AND first > ? ORDER BY first LIMIT ?`,
  obligation: 'SELECT seq FROM open_obligations WHERE tenant = ? AND principal = ? AND seq = ?',
  task: 'SELECT seq FROM tasks WHERE tenant = ? AND seq = ?',
} as const

/** All receipts of these tasks, with the rows of the ledger that contain them. */
export function* collect(tenant: number, tasks: readonly EndedTask[]): Work<Collected> {
  const others = yield tasks.map(({ task }) => ({
    sql: COLLECT_STATEMENTS.task_receipts,
    values: [tenant, task.task_id],
  }))
  const seqs = tasks.flatMap(({ receipts }, n) => [
    ...receipts,
    ...((others[n] ?? []) as { readonly seq: number }[]).map(({ seq }) => seq),
  ])
  const segments = yield* segmentsWith(tenant, seqs)
  const open = segments.map((segment) => new OpenSegment(segment))
  const receipts = [...new Set(seqs)]
    .sort((a, b) => a - b)
    .flatMap((seq): SaltedReceipt[] => {
      const segment = open.find((each) => each.has(tenant, seq))
      return segment === undefined ? [] : [{ receipt: segment.at(seq), salt: segment.salt(seq) }]
    })
  return { tasks, receipts, segments }
}

function* segmentsWith(tenant: number, seqs: readonly number[]): Work<Segment[]> {
  const steps: Step[] = [...new Set(seqs)].map((seq) => ({
    sql: COLLECT_STATEMENTS.segment_with,
    values: [tenant, seq],
  }))
  const found = new Map<number, Segment>()
  for (const rows of yield steps) {
    for (const segment of rows as Segment[]) found.set(segment.first, segment)
  }
  return [...found.values()].sort((a, b) => a.first - b.first)
}

/** The receipts of the next rows that belong to no task, or to one that exists no more, and that are not open. */
export function* strays(tenant: number, after: number, before: number, limit: number): Work<Strays> {
  const rows = yield* one<Segment>(COLLECT_STATEMENTS.next_segments, tenant, after, limit)
  const old = rows.filter(({ created_at }) => created_at <= before)
  const receipts = old.flatMap((segment): SaltedReceipt[] => {
    const open = new OpenSegment(segment)
    return [...open.after(0)].map((receipt) => ({ receipt, salt: open.salt(receipt.seq) }))
  })
  const seqs = [...new Set(receipts.flatMap(({ receipt }) => taskOf(receipt.task_id) ?? []))]
  const found = yield seqs.map((seq) => ({ sql: COLLECT_STATEMENTS.task, values: [tenant, seq] }))
  const existing = new Set((found.flat() as { readonly seq: number }[]).map(({ seq }) => seq))
  const unused = receipts.filter(({ receipt }) => !existing.has(taskOf(receipt.task_id) ?? 0))
  const open = yield unused.map(({ receipt }) => ({
    sql: COLLECT_STATEMENTS.obligation,
    values: [tenant, receipt.to, receipt.seq],
  }))
  const free = unused.filter((_, n) => open[n]?.length === 0)
  const isUsed = (segment: Segment) => {
    const open = new OpenSegment(segment)
    return free.some(({ receipt }) => open.has(tenant, receipt.seq))
  }
  const isLast = rows.length < limit || old.length < rows.length
  return {
    tasks: [],
    receipts: free,
    segments: old.filter(isUsed),
    next: isLast ? null : (rows.at(-1)?.first ?? null),
  }
}

function taskOf(taskId: string | null): number | undefined {
  return taskId === null ? undefined : taskSeq(taskId)
}
