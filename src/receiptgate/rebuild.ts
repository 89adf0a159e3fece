import { z } from 'zod'
import type { Cancel, Restore } from '../core/command.ts'
import { isUuid, receiptId, receiptSeq } from '../core/ids.ts'
import { canonical } from '../core/json/json.ts'
import { GATE, principalKey } from '../core/principal.ts'
import { type Receipt, receiptHash } from '../core/receipt.ts'
import { isOpen } from '../core/task.ts'
import { type ReceiptView, receiptShape } from '../features/receipts/get-receipt.ts'
import type { StatusCounts } from '../store/reads.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { isObject } from '../util/guards.ts'
import { type Contents, contentsShape, restoredContents } from './contents.ts'
import { ImportError } from './import.ts'

/** Receipts that are restored at once. */
const PORTION = 256

const lineShape = z.object({
  receipt: receiptShape,
  salt: z.string().nullish(),
  contents: contentsShape.nullish(),
})

type Line = z.output<typeof lineShape>

export interface Rebuilt {
  readonly tenant: TenantRef
  /** Receipts of the file. */
  readonly receipts: number
  readonly tasks: StatusCounts
  /** Open tasks without their input, which were canceled. */
  readonly canceled: readonly string[]
  /** Ended tasks without their type and input. */
  readonly without_input: number
  /** Results that were too large for their receipts, and are not in the file. */
  readonly without_result: number
  /** Questions without what was asked. */
  readonly without_question: number
}

interface Deps {
  readonly store: Pick<Store, 'reads' | 'tenant'>
  readonly submit: (command: Restore | Cancel) => Promise<unknown>
}

/** What no export contains. */
export const NOT_RESTORED = [
  'which items of inboxes were delivered, read or fetched: only acknowledged ones have left the inbox',
  'progress reports without a receipt, logs of tasks, and results in result channels that this server cannot read',
  'policies, task types, keys, upstreams, limits, usage and the audit log',
  'the signing key and the checkpoints of the log: its receipts and their hashes are the same',
] as const

/**
 * Restores the ledger of an export, its tasks and its obligations in a database that has no ledger of this tenant. It can
 * be repeated after an interruption, and continues where it stopped.
 */
export async function rebuildLedger(lines: AsyncIterable<string>, deps: Deps): Promise<Rebuilt> {
  const { store, submit } = deps
  let tenant: TenantRef | undefined
  let restored = 0
  let [receipts, number, withoutResult, withoutQuestion] = [0, 0, 0, 0]
  const withoutInput: string[] = []
  let portion: Promise<unknown>[] = []
  for await (const text of lines) {
    number += 1
    if (text.trim() === '') continue
    const { receipt: view, salt, contents = null } = parsed(text, number)
    if (tenant === undefined) {
      tenant = await tenantOf(store, view)
      restored = (await store.reads.counters(tenant.tenant)).seq
    }
    receipts += 1
    const receipt = receiptOf(tenant, view, salt ?? undefined, number)
    if (view.seq !== receipts) throw new ImportError(`Line ${number}: receipt ${receipts} is missing.`)
    const missing = missingOf(receipt, contents)
    if (missing === 'input' && receipt.task_id !== null) withoutInput.push(receipt.task_id)
    if (missing === 'result') withoutResult += 1
    if (missing === 'question') withoutQuestion += 1
    if (receipt.seq < restored) continue
    if (receipt.seq === restored) {
      await checkSame(store, tenant, receipt)
      continue
    }
    const command = { verb: 'restore', tenant: tenant.tenant, receipt } as const
    portion.push(submit({ ...command, contents: restoredContents(contents) }))
    if (portion.length < PORTION) continue
    await Promise.all(portion)
    portion = []
  }
  await Promise.all(portion)
  if (tenant === undefined) throw new ImportError('The file contains no receipt.')
  const canceled = await cancelOpen(deps, tenant, withoutInput)
  return {
    ...{ tenant, receipts, canceled },
    tasks: await store.reads.statusCounts(tenant.tenant, Number.MAX_SAFE_INTEGER),
    without_input: withoutInput.length - canceled.length,
    without_result: withoutResult,
    without_question: withoutQuestion,
  }
}

function parsed(text: string, number: number): Line {
  try {
    return lineShape.parse(JSON.parse(text))
  } catch {
    throw new ImportError(`Line ${number} is not a line of "asyncgate ledger export".`)
  }
}

/** The ids of receipts contain the salt of their tenant. */
async function tenantOf(
  store: Pick<Store, 'tenant'>,
  { receipt_id, tenant_id }: ReceiptView,
): Promise<TenantRef> {
  if (!isUuid(receipt_id)) throw new ImportError('Line 1: receipt_id is not the id of a receipt.')
  const salt = receipt_id.slice(19)
  const tenant = await store.tenant(tenant_id, salt)
  if (tenant.salt === salt) return tenant
  throw new ImportError(`The database already has another ledger of the tenant "${tenant_id}".`)
}

function receiptOf(tenant: TenantRef, view: ReceiptView, salt: string | undefined, line: number): Receipt {
  const { seq, receipt_type, task_id, lease_id, schedule_id, hash } = view
  const parents = view.parents.map((id) => receiptSeq(tenant.salt, id))
  const receipt: Receipt = {
    ...{ tenant: tenant.tenant, seq, receipt_type, task_id, lease_id, schedule_id },
    created_at: Date.parse(view.created_at),
    instance: view.asyncgate_instance,
    from: principalKey(view.from),
    to: principalKey(view.to),
    parents: parents.filter((parent) => parent !== undefined),
    body: canonical(view.body),
    ...(hash === null ? { erased: true } : salt !== undefined && { salt }),
  }
  const isSame =
    view.receipt_id === receiptId(tenant.salt, seq) &&
    view.tenant_id === tenant.name &&
    receipt.parents.length === parents.length &&
    (hash === null || receiptHash(tenant.salt, receipt) === hash)
  if (!isSame) throw new ImportError(`Line ${line}: receipt ${view.receipt_id} was changed.`)
  return receipt
}

function missingOf(receipt: Receipt, contents: Contents | null): 'input' | 'result' | 'question' | undefined {
  switch (receipt.receipt_type) {
    case 'task.assigned':
      return contents?.task === undefined ? 'input' : undefined
    case 'question.asked':
      return contents?.question === undefined ? 'question' : undefined
    case 'task.completed': {
      const said: unknown = JSON.parse(receipt.body)
      const isElsewhere = isObject(said) && said.result_hash !== undefined
      return isElsewhere && contents?.result === undefined ? 'result' : undefined
    }
    default:
      return undefined
  }
}

/** The database must have been rebuilt from the same ledger. */
async function checkSame(store: Pick<Store, 'reads'>, tenant: TenantRef, receipt: Receipt): Promise<void> {
  const stored = await store.reads.receipt(tenant.tenant, receipt.seq)
  const isSame =
    stored !== undefined &&
    stored.created_at === receipt.created_at &&
    receiptHash(tenant.salt, stored) === receiptHash(tenant.salt, receipt)
  if (!isSame) throw new ImportError('The database has other receipts than the file.')
}

const REASON = 'The input of the task was not part of the export from which this database was rebuilt.'

/** A worker could not do anything for a task without its input. */
async function cancelOpen(
  { store, submit }: Deps,
  { tenant }: TenantRef,
  taskIds: readonly string[],
): Promise<string[]> {
  const canceled: string[] = []
  for (const task_id of taskIds) {
    const task = await store.reads.state(tenant, task_id)
    if (task === undefined || !isOpen(task)) continue
    await submit({ verb: 'cancel', tenant, task_id, by: GATE, role: 'system', reason: REASON })
    canceled.push(task_id)
  }
  return canceled
}
