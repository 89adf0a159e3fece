import type { ErrorCode } from '../../src/core/errors.ts'
import { receiptId } from '../../src/core/ids.ts'
import type { Receipt, ReceiptType } from '../../src/core/receipt.ts'
import { isTerminal, type Status } from '../../src/core/transitions.ts'
import type { Store, TenantRef } from '../../src/store/store.ts'
import { allReceipts } from './receipts.ts'

/** A command that was acknowledged to its caller. */
export type Acknowledged = { readonly task_id: string } & (
  | { readonly verb: 'create'; readonly receipt_id: string; readonly owner: string; readonly n: number }
  | { readonly verb: 'claim'; readonly lease_id: string; readonly fence: number }
  | { readonly verb: 'progress'; readonly lease_id: string; readonly step: string }
  | { readonly verb: 'release'; readonly lease_id: string }
  | { readonly verb: 'complete'; readonly receipt_id: string; readonly result: string }
  | { readonly verb: 'fail'; readonly receipt_id: string; readonly requeued: boolean }
  | { readonly verb: 'ask'; readonly receipt_id: string; readonly n: number }
  | { readonly verb: 'decide'; readonly receipt_id: string; readonly n: number; readonly state: string }
  | { readonly verb: 'cancel'; readonly status: Status }
)

export interface Refused {
  readonly verb: string
  readonly code: ErrorCode
}

/** One line of a caller's log, written after the call has returned. */
export type Line = { readonly ms: number } & (
  | { readonly acknowledged: Acknowledged }
  | { readonly refused: Refused }
)

/** Acknowledged commands that are missing in the database or stored differently. */
export async function findLost(
  store: Store,
  tenant: TenantRef,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  const stored = await readStored(store, tenant, acknowledged)
  return acknowledged.filter((said) => !isStored(stored, said)).map((said) => JSON.stringify(said))
}

interface Stored {
  readonly statuses: ReadonlyMap<string, Status>
  readonly results: ReadonlyMap<string, string | null>
  /** The states of questions, by task and number. */
  readonly questions: ReadonlyMap<string, string>
  readonly receipts: ReadonlyMap<string, Receipt>
  readonly byTask: ReadonlyMap<string, readonly Receipt[]>
}

async function readStored(
  store: Store,
  tenant: TenantRef,
  acknowledged: readonly Acknowledged[],
): Promise<Stored> {
  const statuses = new Map<string, Status>()
  const results = new Map<string, string | null>()
  const questions = new Map<string, string>()
  const ids = [...new Set(acknowledged.map((said) => said.task_id))]
  for (let i = 0; i < ids.length; i += 500) {
    for (const { task, questions: asked } of await store.reads.tasks(tenant.tenant, ids.slice(i, i + 500))) {
      for (const { n, state } of asked) questions.set(`${task.task_id} ${n}`, state)
      statuses.set(task.task_id, task.status)
      if ('outcome' in task) results.set(task.task_id, task.outcome.result)
    }
  }
  const all = await allReceipts(store, tenant)
  const byTask = new Map<string, Receipt[]>()
  for (const receipt of all) {
    const receipts = byTask.get(receipt.task_id ?? '')
    if (receipts === undefined) byTask.set(receipt.task_id ?? '', [receipt])
    else receipts.push(receipt)
  }
  const receipts = new Map(all.map((receipt) => [receiptId(tenant.salt, receipt.seq), receipt]))
  return { statuses, results, questions, receipts, byTask }
}

function isStored(stored: Stored, said: Acknowledged): boolean {
  const { task_id } = said
  const status = stored.statuses.get(task_id)
  const receipts = stored.byTask.get(task_id) ?? []
  const of = (type: ReceiptType) => receipts.filter((receipt) => receipt.receipt_type === type)
  const isReceipt = (id: string, type: ReceiptType) => {
    const receipt = stored.receipts.get(id)
    return receipt?.task_id === task_id && receipt.receipt_type === type
  }
  switch (said.verb) {
    case 'create':
      return status !== undefined && isReceipt(said.receipt_id, 'task.assigned')
    case 'claim':
      return of('task.accepted')[said.fence - 1]?.lease_id === said.lease_id
    case 'progress':
      return of('task.progress').some(
        ({ lease_id, body }) => lease_id === said.lease_id && body.includes(JSON.stringify(said.step)),
      )
    case 'release':
      return of('lease.released').some(({ lease_id }) => lease_id === said.lease_id)
    case 'complete':
      return (
        status === 'succeeded' &&
        stored.results.get(task_id) === said.result &&
        isReceipt(said.receipt_id, 'task.completed')
      )
    case 'fail':
      return said.requeued
        ? isReceipt(said.receipt_id, 'task.retry_scheduled')
        : status === 'failed' && isReceipt(said.receipt_id, 'task.failed')
    case 'ask':
      return isReceipt(said.receipt_id, 'question.asked')
    case 'decide':
      return (
        isReceipt(said.receipt_id, 'question.answered') &&
        stored.questions.get(`${task_id} ${said.n}`) === said.state
      )
    case 'cancel':
      return isTerminal(said.status) && status === said.status
  }
}
