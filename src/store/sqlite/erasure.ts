import type { Erasure } from '../erasure.ts'
import { erasureOn } from '../layout/erasure.ts'
import type { Segment } from '../layout/segments.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { ANY_DONE } from './tasks.ts'

export const NEXT_SEGMENTS = `SELECT tenant, first, created_at, instance, receipts FROM ledger
  WHERE tenant = ? AND first > ? ORDER BY first LIMIT ?`

export function prepareErasure(reader: Database, writer: Database, change: Change): Erasure {
  const segments = reader.prepare(NEXT_SEGMENTS)
  const replace = writer.prepare(
    'UPDATE ledger SET receipts = ? WHERE tenant = ? AND first = ? AND receipts = ?',
  )
  const subtract = writer.prepare(
    'UPDATE tenants SET receipt_bytes = max(0, receipt_bytes - ?) WHERE tenant = ?',
  )
  const eraseTask = writer.prepare('UPDATE tasks SET head = ?, input = ? WHERE tenant = ? AND seq = ?')
  const eraseDone = writer.prepare(
    `UPDATE tasks_done SET result = ?, details = ? WHERE tenant = ? AND ${ANY_DONE} AND seq = ?`,
  )
  const eraseQuestions = writer.prepare(
    `UPDATE questions SET request = iif(kind = 'approval', ?, ?), answer = iif(answer IS NULL, NULL, ?),
       content_hash = NULL
     WHERE task_id = ? AND tenant = ?`,
  )
  const removeProgress = writer.prepare('DELETE FROM task_progress WHERE task_id = ? AND tenant = ?')
  const removeLogs = writer.prepare('DELETE FROM task_logs WHERE task_id = ? AND tenant = ?')
  const removeRelationship = writer.prepare('DELETE FROM relationships WHERE tenant = ? AND principal = ?')
  return erasureOn({
    segments: async (...values) => attemptAvailable(() => segments.all(...values) as Segment[]),
    replace: async (tenant, changes) =>
      changes.flatMap(({ first, before, after, bytes }) =>
        change(() =>
          inTransaction(writer, () => {
            if (Number(replace.run(after, tenant, first, before).changes) === 0) return []
            subtract.run(bytes, tenant)
            return [bytes]
          }),
        ),
      ),
    task: async ({ tenant, seq, task_id, head, input, result, details, approval, question, answer }) => {
      change(() => eraseTask.run(head, input, tenant, seq))
      change(() => eraseDone.run(result, details, tenant, seq))
      change(() => eraseQuestions.run(approval, question, answer, task_id, tenant))
      change(() => removeProgress.run(task_id, tenant))
      change(() => removeLogs.run(task_id, tenant))
    },
    relationship: async (tenant, principal) => {
      change(() => removeRelationship.run(tenant, principal))
    },
  })
}
