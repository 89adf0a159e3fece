import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import type { Task } from '../../core/task.ts'
import type { Changes } from '../store.ts'
import type { Known } from './known.ts'

/** A receipt that the row of its task does not name. */
export interface TaskReceipt {
  readonly tenant: number
  readonly task_id: string
  readonly seq: number
}

/** A receipt that names a parent and is not found through the task of that parent. */
export interface ChildRow {
  readonly tenant: number
  readonly parent: number
  readonly child: number
  readonly receipt_type: ReceiptType
  readonly from: PrincipalKey
}

/** The row of a task is written again with every receipt, so it names only the first of very many. */
const MAX_NAMED = 32

/** Receipts that may be children of another receipt of their task without a row of their own. */
const WITHIN_TASK: ReadonlySet<ReceiptType> = new Set([
  'task.accepted',
  'task.started',
  'task.progress',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.retry_scheduled',
  'task.result_ready',
  'question.asked',
  'question.answered',
  'lease.expired',
  'lease.released',
])

/**
 * Each task's row names its receipts, so that they need no index: those of the rows that a batch writes anyway. The
 * others are in `task_receipts`.
 */
export class NamedReceipts {
  readonly taskReceipts: TaskReceipt[] = []
  readonly children: ChildRow[] = []
  readonly #named = new Map<string, readonly number[]>()

  constructor(changes: Changes, known: Known) {
    const byTask = new Map<string, Receipt[]>()
    for (const receipt of changes.receipts) {
      if (receipt.task_id === null) continue
      const key = `${receipt.tenant} ${receipt.task_id}`
      const found = byTask.get(key)
      if (found === undefined) byTask.set(key, [receipt])
      else found.push(receipt)
    }
    for (const tasks of [changes.inserted, changes.updated, changes.finished, changes.repaired]) {
      for (const task of tasks) this.#name(task, known.receipts(task), byTask.get(keyOf(task)) ?? NONE)
    }
    for (const receipt of changes.receipts) this.#note(receipt)
  }

  of(task: Pick<Task, 'tenant' | 'task_id'>): readonly number[] {
    return this.#named.get(keyOf(task)) ?? []
  }

  #name(task: Task, before: readonly number[], receipts: readonly Receipt[]): void {
    const room = Math.max(0, MAX_NAMED - before.length)
    const named =
      receipts.length === 0 ? before : [...before, ...receipts.slice(0, room).map(({ seq }) => seq)]
    this.#named.set(keyOf(task), named)
  }

  #note({ tenant, task_id, seq, parents, receipt_type, from }: Receipt): void {
    const named = task_id === null ? [] : this.of({ tenant, task_id })
    const isNamed = named.includes(seq)
    if (task_id !== null && !isNamed) this.taskReceipts.push({ tenant, task_id, seq })
    const isWithin = isNamed && WITHIN_TASK.has(receipt_type)
    for (const parent of parents.length > 1 ? new Set(parents) : parents) {
      if (!isWithin || !named.includes(parent)) {
        this.children.push({ tenant, parent, child: seq, receipt_type, from })
      }
    }
  }
}

const NONE: readonly Receipt[] = []

function keyOf({ tenant, task_id }: Pick<Task, 'tenant' | 'task_id'>): string {
  return `${tenant} ${task_id}`
}
