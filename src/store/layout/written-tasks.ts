import type { Obligation } from '../../core/draft.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import { type DoneTask, isOpen, type OpenTask, type Task } from '../../core/task.ts'
import type { Changes } from '../store.ts'
import type { Known } from './known.ts'
import { TenantMap } from './tenant-map.ts'

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

interface WrittenTask {
  readonly task: Task
  readonly receipts: number[]
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
 * The tasks whose rows a batch writes. Each row names the receipts of its task, so that they need no index, and stands
 * for what its owner is owed while the task is open.
 */
export class WrittenTasks {
  /** Receipts that no row names. */
  readonly taskReceipts: TaskReceipt[] = []
  readonly children: ChildRow[] = []
  readonly #tasks = new TenantMap<string, WrittenTask>()
  readonly #known: Known

  constructor(changes: Changes, known: Known) {
    this.#known = known
    for (const tasks of [changes.inserted, changes.updated, changes.finished, changes.repaired]) {
      for (const task of tasks) {
        this.#tasks.set(task.tenant, task.task_id, { task, receipts: known.receipts(task).slice() })
      }
    }
    // A parent is older than its children, so it has been named before they are.
    for (const receipt of changes.receipts) this.#name(receipt)
  }

  receiptsOf({ tenant, task_id }: Task): readonly number[] {
    return this.#tasks.get(tenant, task_id)?.receipts ?? NONE
  }

  /** Whether an obligation begins with the row of its task. */
  opens(obligation: Obligation): boolean {
    const task = this.#owing(obligation)
    return task !== undefined && isOpen(task)
  }

  /** Whether an obligation ends with the row of its open task. */
  closes(obligation: Obligation): boolean {
    const task = this.#owing(obligation)
    return task !== undefined && !isOpen(task) && this.#known.isLive(task)
  }

  #owing({ tenant, task_id, seq, principal }: Obligation): OpenTask | DoneTask | undefined {
    const task = this.#tasks.get(tenant, task_id)?.task
    return task !== undefined && task.seq === seq && task.owner === principal ? task : undefined
  }

  #name({ tenant, task_id, seq, parents, receipt_type, from }: Receipt): void {
    const named = task_id === null ? undefined : this.#tasks.get(tenant, task_id)?.receipts
    const isNamed = named !== undefined && named.length < MAX_NAMED
    if (isNamed) named.push(seq)
    else if (task_id !== null) this.taskReceipts.push({ tenant, task_id, seq })
    const within = isNamed && WITHIN_TASK.has(receipt_type) ? named : NONE
    for (const parent of parents.length > 1 ? new Set(parents) : parents) {
      if (!within.includes(parent)) this.children.push({ tenant, parent, child: seq, receipt_type, from })
    }
  }
}

const NONE: readonly number[] = []
