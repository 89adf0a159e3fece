import { z } from 'zod'
import { nextCursor } from '../input.ts'
import { age, line, summaryView } from '../summary.ts'
import type { TaskView } from '../tasks/shape.ts'
import { ageShape, taskRow } from '../tasks/summary.ts'
import type { ReceiptView } from './get-receipt.ts'
import { type LedgerReceipt, ledgerReceiptShape, NA } from './ledger-shape.ts'

const receiptRowShape = z.object({
  receipt_id: z.string().describe('Id of the receipt'),
  receipt_type: z.string().describe('The event that the receipt records'),
  age: ageShape.describe('Time since the receipt was written, such as 3m'),
  task_id: z.string().optional().describe('The task that the receipt is about'),
  from: z.string().describe('Who wrote it, as kind:id'),
  to: z.string().describe('Who it is addressed to, as kind:id'),
})

const keyOf = ({ kind, id }: ReceiptView['from']) => `${kind}:${id}`

function receiptRow(receipt: ReceiptView, now: number): z.output<typeof receiptRowShape> {
  return {
    receipt_id: receipt.receipt_id,
    receipt_type: receipt.receipt_type,
    age: age(receipt.created_at, now),
    ...(receipt.task_id !== null && { task_id: receipt.task_id }),
    from: keyOf(receipt.from),
    to: keyOf(receipt.to),
  }
}

export const receiptListSummary = summaryView({
  shape: z.object({ receipts: z.array(receiptRowShape), next_cursor: nextCursor }),
  defaults: { limit: 15 },
  of: (page: { receipts: readonly ReceiptView[]; next_cursor: string | null }, now) => ({
    receipts: page.receipts.map((receipt) => receiptRow(receipt, now)),
    next_cursor: page.next_cursor,
  }),
})

export const obligationsSummary = summaryView({
  shape: z.object({ open_obligations: z.array(receiptRowShape), cursor: nextCursor }),
  defaults: { limit: 15 },
  of: (page: { open_obligations: readonly ReceiptView[]; cursor: string | null }, now) => ({
    open_obligations: page.open_obligations.map((receipt) => receiptRow(receipt, now)),
    cursor: page.cursor,
  }),
})

const MAX_LINE = 60
const MAX_OUTCOME = 100

const ledgerRowShape = z.object({
  receipt_id: z.string().describe('Id of the receipt'),
  task_id: z.string().describe('The task that the receipt is about; NA if it is about none'),
  phase: ledgerReceiptShape.shape.phase,
  status: ledgerReceiptShape.shape.status.optional().describe('How the task ended'),
  age: ageShape.describe('Time since the receipt was written, such as 3m'),
  task: z.string().describe('Summary of the task'),
  outcome: z.string().optional().describe('Result, error or reason, in one line'),
})

export const ledgerSummary = summaryView({
  shape: z.object({ receipts: z.array(ledgerRowShape), next_cursor: nextCursor }),
  defaults: { limit: 15 },
  of: (page: { receipts: readonly LedgerReceipt[]; next_cursor: string | null }, now) => ({
    receipts: page.receipts.map((receipt) => {
      const outcome = receipt.phase === 'escalate' ? receipt.escalation_reason : receipt.outcome_text
      return {
        receipt_id: receipt.receipt_id,
        task_id: receipt.task_id,
        phase: receipt.phase,
        ...(receipt.status !== NA && { status: receipt.status }),
        age: age(receipt.created_at, now),
        task: line(receipt.task_summary, MAX_LINE),
        ...(outcome !== NA && { outcome: line(outcome, MAX_OUTCOME) }),
      }
    }),
    next_cursor: page.next_cursor,
  }),
})

/** The number of items of each kind in a digest. The rest is listed by the operation that the digest names. */
const SHOWN = 10

const rowsShape = z.object({
  count: z.int().describe('Number of items that were read'),
  more: z.boolean().describe('Whether there are others'),
  first: z.array(z.string()).describe('The first ten: id, what it is, age'),
})

const digestShape = z.object({
  results: rowsShape.describe('Ended tasks whose result is not acknowledged, by task_id'),
  open: rowsShape.describe('Tasks that are still owed to you, by task_id'),
  anomalies: rowsShape.describe('Reported anomalies, by receipt_id'),
  next: z.string().describe('The operations that list everything'),
  since_receipt_id: z.string().nullable().describe('Send it in the next call to see only what is new'),
  warnings: z.array(z.string()).optional().describe('Quotas of the tenant that are nearly used up'),
})

interface Attention {
  readonly attention: {
    readonly inbox_receipts: readonly ReceiptView[]
    readonly assigned_tasks: readonly TaskView[]
    readonly waiting_results: readonly TaskView[]
    readonly anomalies: readonly ReceiptView[]
    readonly more: boolean
  }
  readonly cursor: { readonly latest_receipt_id: string | null }
  readonly warnings: readonly string[]
}

/** Items that a digest counts: more than it shows, so that the counts say something. */
const COUNTED = 100

export const bootstrapSummary = summaryView({
  shape: digestShape,
  defaults: { max_items: COUNTED },
  of({ attention, cursor, warnings }: Attention, now): z.output<typeof digestShape> {
    const taskLine = (task: TaskView) => {
      const { task_id, type, status, summary, age } = taskRow(task, now)
      return `${task_id} ${line(`${status} ${age} ${type}${summary === undefined ? '' : `: ${summary}`}`, MAX_LINE)}`
    }
    const rows = <Item>(items: readonly Item[], write: (item: Item) => string) => ({
      count: items.length,
      more: attention.more || items.length >= COUNTED,
      first: items.slice(0, SHOWN).map(write),
    })
    return {
      results: rows(attention.waiting_results, taskLine),
      open: rows(attention.assigned_tasks, taskLine),
      anomalies: rows(
        attention.anomalies,
        (receipt) => `${receipt.receipt_id} ${age(receipt.created_at, now)}`,
      ),
      next: 'list_inbox lists what came in, list_tasks your tasks, get_task one of them; ack_receipt what you have dealt with.',
      since_receipt_id: cursor.latest_receipt_id,
      ...(warnings.length > 0 && { warnings: [...warnings] }),
    }
  },
})
