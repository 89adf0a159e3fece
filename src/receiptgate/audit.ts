import { receiptId } from '../core/ids.ts'
import { ObligationReplay, owedTo } from '../core/obligations.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { terminatorsOf } from '../core/receipt.ts'
import { isOpen } from '../core/task.ts'
import type { Reads, TaskRecord } from '../store/reads.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { forwardedTypes, type Target } from './canonical.ts'
import type { ReceiptGateClient } from './client.ts'
import { renderReceipt } from './render.ts'

const PAGE = 200

/** A contradiction between tasks, receipts and the shared ledger. */
export interface Difference {
  readonly task_id: string | null
  readonly difference: string
}

export interface Audit {
  readonly receipts: number
  readonly tasks: number
  readonly differences: readonly Difference[]
}

interface AuditOptions {
  readonly store: Pick<Store, 'reads' | 'outbox'>
  readonly tenant: TenantRef
  /** The shared ledger to compare with. */
  readonly remote?:
    | { readonly client: Pick<ReceiptGateClient, 'receiptsOf'>; readonly target: Target }
    | undefined
}

/** Compares the tasks of a tenant with its receipts, and both with the shared ledger. No task may change meanwhile. */
export async function auditLedger({ store, tenant, remote }: AuditOptions): Promise<Audit> {
  const { reads } = store
  const replay = new ObligationReplay()
  const pages = pagesOf((from) => reads.receipts(tenant.tenant, { by: 'all' }, from, 'ascending', PAGE), 0)
  let receipts = 0
  for await (const receipt of pages) {
    receipts += 1
    replay.add(receipt)
  }
  const differences: Difference[] = []
  const expected = new Map<PrincipalKey, Set<number>>()
  const scan = (before: number) => reads.scan(tenant.tenant, { by: 'all' }, before, PAGE)
  let tasks = 0
  for await (const { task_id } of pagesOf(scan, Number.MAX_SAFE_INTEGER)) {
    const record = await reads.task(tenant.tenant, task_id)
    if (record === undefined) continue
    tasks += 1
    for (const difference of await stateDifferences(reads, tenant.tenant, record)) {
      differences.push({ task_id, difference })
    }
    for (const principal of owedTo(record.task)) {
      const seqs = expected.get(principal) ?? new Set()
      if (replay.open.has(record.task.seq)) seqs.add(record.task.seq)
      expected.set(principal, seqs)
    }
    if (remote === undefined) continue
    for (const difference of await remoteDifferences(store, tenant, record, remote)) {
      differences.push({ task_id, difference })
    }
  }
  differences.push(...(await obligationDifferences(reads, tenant, expected)))
  return { receipts, tasks, differences }
}

const END_TYPES = { succeeded: 'task.completed', failed: 'task.failed', canceled: 'task.canceled' } as const

/** The state of a task and the receipt about its end must agree. */
async function stateDifferences(reads: Reads, tenant: number, { task }: TaskRecord): Promise<string[]> {
  if (isOpen(task)) {
    const ends = await reads.children(tenant, [task.seq], terminatorsOf('task.assigned'))
    return ends.map((end) => `the task is ${task.status}, but receipt ${end.seq} is ${end.receipt_type}`)
  }
  const end = await reads.receipt(tenant, task.outcome.receipt_seq)
  const isRight = end?.receipt_type === END_TYPES[task.status] && end.task_id === task.task_id
  return isRight ? [] : [`the task is ${task.status}, but has no ${END_TYPES[task.status]} receipt`]
}

/** The obligations that follow from the receipts and those that the server lists must be the same. */
async function obligationDifferences(
  reads: Reads,
  tenant: TenantRef,
  expected: ReadonlyMap<PrincipalKey, ReadonlySet<number>>,
): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const [principal, seqs] of expected) {
    const listed = new Set<number>()
    const page = (after: number) => reads.obligations(tenant.tenant, principal, after, PAGE)
    for await (const { seq, receipt_type } of pagesOf(page, 0)) {
      if (receipt_type === 'task.assigned') listed.add(seq)
    }
    const id = (seq: number) => receiptId(tenant.salt, seq)
    for (const seq of seqs) {
      const difference = `receipt ${id(seq)} is owed to ${principal}, but is not listed as an obligation`
      if (!listed.has(seq)) differences.push({ task_id: null, difference })
    }
    for (const seq of listed) {
      const difference = `receipt ${id(seq)} is listed as an obligation to ${principal}, but is closed`
      if (!seqs.has(seq)) differences.push({ task_id: null, difference })
    }
  }
  return differences
}

/** The shared ledger must have the receipts of a task, apart from those that still wait, and no others. */
async function remoteDifferences(
  { reads, outbox }: Pick<Store, 'reads' | 'outbox'>,
  tenant: TenantRef,
  { task }: TaskRecord,
  { client, target }: NonNullable<AuditOptions['remote']>,
): Promise<string[]> {
  const found = new Map(
    (await client.receiptsOf(task.task_id)).map((receipt) => [receipt.receipt_id, receipt]),
  )
  const cursor = await outbox.cursor(tenant.tenant)
  const waiting = new Set((await outbox.ofTask(tenant.tenant, task.task_id)).map(({ seq }) => seq))
  const page = (from: number) =>
    reads.receiptLines(tenant.tenant, { by: 'task', task_id: task.task_id }, from, 'ascending', PAGE)
  const types = forwardedTypes(target)
  const differences: string[] = []
  for await (const { seq, receipt_type } of pagesOf(page, 0)) {
    if (!types.has(receipt_type)) continue
    const id = receiptId(tenant.salt, seq)
    const remote = found.get(id)
    found.delete(id)
    if (seq > cursor || waiting.has(seq)) continue
    const local = await renderReceipt(reads, tenant, seq, target)
    if (local === undefined) {
      if (remote !== undefined) differences.push(`ReceiptGate has receipt ${id}, which is not sent`)
    } else if (remote === undefined)
      differences.push(`ReceiptGate does not have receipt ${id} (${receipt_type})`)
    else if (remote.phase !== local.phase || remote.status !== local.status) {
      differences.push(`receipt ${id} differs in ReceiptGate: ${remote.phase} instead of ${local.phase}`)
    }
  }
  for (const { receipt_id, source_system } of found.values()) {
    if (source_system === 'asyncgate')
      differences.push(`ReceiptGate has receipt ${receipt_id}, which is unknown here`)
  }
  return differences
}

/** The rows of all pages. Each page begins after the seq of the last row. */
async function* pagesOf<Row extends { readonly seq: number }>(
  read: (from: number) => Promise<Row[]>,
  start: number,
): AsyncGenerator<Row> {
  for (let from = start; ; ) {
    const page = await read(from)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    from = last.seq
  }
}
