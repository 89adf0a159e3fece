import type { Receipt } from '../../core/receipt.ts'
import { type HeldTask, isHeld, isOpen, type Task } from '../../core/task.ts'
import type { Child, Holder, ReceiptLine, TaskLease } from '../reads.ts'
import type { ChildRow } from './written-tasks.ts'

export function receiptLine({ seq, receipt_type, to, task_id, lease_id, body }: Receipt): ReceiptLine {
  return { seq, receipt_type, to, task_id, lease_id, bytes: Buffer.byteLength(body) }
}

/** The children of a receipt: those among the receipts of its task, and those with a row of their own. */
export function childrenOf(parent: number, siblings: readonly Receipt[], rows: readonly ChildRow[]): Child[] {
  const children = new Map<number, Child>()
  for (const { seq, receipt_type, from, parents } of siblings) {
    if (parents.includes(parent)) children.set(seq, { parent, seq, receipt_type, from })
  }
  for (const { child, receipt_type, from } of rows) {
    children.set(child, { parent, seq: child, receipt_type, from })
  }
  return [...children.values()].sort((a, b) => a.seq - b.seq)
}

/** The task with its present lease, or the one under which it ended. */
export function taskLease(task: Task): TaskLease {
  const { task_id, status } = task
  const lease = isHeld(task) || !isOpen(task) ? task.lease : null
  if (lease === null) return { task_id, status, lease_id: null, holder: null, worker_id: null }
  return { task_id, status, lease_id: lease.lease_id, holder: lease.holder, worker_id: lease.worker_id }
}

export function holdersOf(tasks: readonly HeldTask[]): Holder[] {
  const holders = new Map<string, Holder>()
  for (const { status, lease } of tasks) {
    const { worker_id, expires_at } = lease
    const holder = holders.get(worker_id)
    holders.set(worker_id, {
      worker_id,
      leased: (holder?.leased ?? 0) + (status === 'leased' ? 1 : 0),
      running: (holder?.running ?? 0) + (status === 'running' ? 1 : 0),
      next_expires_at: Math.min(holder?.next_expires_at ?? expires_at, expires_at),
    })
  }
  return [...holders.values()]
}
