import { z } from 'zod'
import { checkReader, forbidden, seesAll } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { receiptId as publicId } from '../../core/ids.ts'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { type Caller, type PrincipalKey, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { RECEIPT_TYPES, type Receipt, receiptHash, terminatorsOf } from '../../core/receipt.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedJson } from '../../engine/stored-json.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { json, principalShape, text, time } from '../input.ts'
import type { Archive } from '../retention/archive.ts'
import { checkArchiveReader } from '../retention/archive-reader.ts'
import { readTask } from '../tasks/read-task.ts'

const receiptId = text(64).describe('Id of the receipt')

export const sinceReceiptId = text(64)
  .optional()
  .describe('Continue after this receipt: the cursor of the previous page')

export const receiptShape = z.object({
  receipt_id: z.string().describe('Id of the receipt'),
  seq: z.int().describe('Position in the ledger of the tenant: 1, 2, 3, ... without gaps'),
  receipt_type: z.enum(RECEIPT_TYPES).describe('The event that the receipt records'),
  created_at: time.describe('When the receipt was written'),
  tenant_id: z.string().describe('The tenant whose ledger contains the receipt'),
  from: principalShape.describe('The principal whose action the receipt records'),
  to: principalShape.describe('The principal to which the receipt is addressed'),
  task_id: z.string().nullable().describe('The task that the receipt is about; null if it is about none'),
  lease_id: z.string().nullable().describe('The lease under which it was written; null if there was none'),
  schedule_id: z.string().nullable().describe('The schedule that it is about; null if it is about none'),
  parents: z
    .array(z.string())
    .readonly()
    .describe('Ids of the receipts that this one closes or follows from'),
  body: json.describe('What the receipt states; its members depend on receipt_type'),
  hash: z
    .string()
    .nullable()
    .describe('SHA-256 of the statement, without time and id; null if the body was erased'),
  asyncgate_instance: z.string().describe('The server instance that wrote the receipt'),
  delivered_at: time
    .nullable()
    .describe('When the receipt was first delivered to the inbox of its addressee; null if it was not'),
})

export type ReceiptView = z.output<typeof receiptShape>

export function receiptView(
  tenant: TenantRef,
  receipt: Receipt,
  deliveredAt: number | null = null,
): ReceiptView {
  return {
    receipt_id: publicId(tenant.salt, receipt.seq),
    seq: receipt.seq,
    receipt_type: receipt.receipt_type,
    created_at: isoTime(receipt.created_at),
    tenant_id: tenant.name,
    from: parsePrincipalKey(receipt.from),
    to: parsePrincipalKey(receipt.to),
    task_id: receipt.task_id,
    lease_id: receipt.lease_id,
    schedule_id: receipt.schedule_id,
    parents: receipt.parents.map((seq) => publicId(tenant.salt, seq)),
    body: storedJson(receipt.body),
    hash: receipt.erased ? null : receiptHash(tenant.salt, receipt),
    asyncgate_instance: receipt.instance,
    delivered_at: isoOrNull(deliveredAt),
  }
}

/**
 * The receipts with the time of their delivery to their addressees, or to `principal` if it is given. With `archive`, some
 * of them may be archived.
 */
export async function withDeliveries(
  engine: Engine,
  tenant: TenantRef,
  receipts: readonly Receipt[],
  principal?: PrincipalKey,
  archive?: Archive,
): Promise<ReceiptView[]> {
  const refs = receipts
    .filter((receipt) => INBOX_TYPES.includes(receipt.receipt_type))
    .map(({ to, seq }) => ({ principal: principal ?? to, seq }))
  const items = await engine.reading(() => engine.store.reads.items(tenant.tenant, refs))
  const deliveredAt = new Map(items.map((item) => [item.seq, item.delivered_at]))
  const others = refs.flatMap(({ seq }) => (deliveredAt.has(seq) ? [] : [seq]))
  for (const [seq, at] of (await archive?.deliveries(tenant.tenant, others)) ?? []) deliveredAt.set(seq, at)
  return receipts.map((receipt) => receiptView(tenant, receipt, deliveredAt.get(receipt.seq) ?? null))
}

/** The seq that a `since_receipt_id` names; 0 if it is absent. */
export function sinceSeq(engine: Engine, tenant: TenantRef, id: string | undefined): number {
  if (id === undefined) return 0
  return engine.seqOf(tenant, id, () => invalid('since_receipt_id', 'is not a receipt of this tenant'))
}

const input = z.strictObject({ receipt_id: receiptId })

export const getReceipt = defineOperation({
  name: 'get_receipt',
  title: 'Get a receipt',
  description: 'One receipt, with its parents, its children and its body.',
  input,
  output: receiptShape.extend({
    children: z
      .array(
        z.object({
          receipt_id: z.string().describe('Id of the receipt'),
          receipt_type: z.enum(RECEIPT_TYPES).describe('The event that it records'),
          task_id: z.string().nullable().describe('The task that it is about; null if it is about none'),
        }),
      )
      .readonly()
      .describe('Receipts that close this one or follow from it, oldest first; at most 50'),
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  rest: { method: 'GET', path: '/v1/receipts/{receipt_id}' },
  async run({ engine, retention }, caller, { receipt_id }) {
    const { archive } = retention
    const { tenant, receipt, isArchived } = await readReceipt(engine, archive, caller, receipt_id)
    const [view] = await withDeliveries(
      engine,
      tenant,
      [receipt],
      undefined,
      isArchived ? archive : undefined,
    )
    if (view === undefined) throw new Fault('RECEIPT_NOT_FOUND')
    const children = isArchived
      ? await archive.children(receipt, RECEIPT_TYPES)
      : await childrenOf(engine, tenant, receipt)
    return {
      ...view,
      children: children.slice(0, MAX_CHILDREN).map(({ seq, receipt_type, task_id }) => ({
        receipt_id: engine.receiptId(tenant, seq),
        ...{ receipt_type, task_id },
      })),
    }
  },
})

const MAX_CHILDREN = 50

/** The receipts that name this one as a parent. */
async function childrenOf(engine: Engine, tenant: TenantRef, { seq }: Receipt): Promise<Receipt[]> {
  const { reads } = engine.store
  const found = await engine.reading(() => reads.children(tenant.tenant, [seq], RECEIPT_TYPES))
  const seqs = [...new Set(found.map((child) => child.seq))].sort((a, b) => a - b).slice(0, MAX_CHILDREN)
  const receipts = await Promise.all(
    seqs.map((child) => engine.reading(() => reads.receipt(tenant.tenant, child))),
  )
  return receipts.flatMap((child) => child ?? [])
}

export const checkTerminator = defineOperation({
  name: 'check_terminator',
  title: 'Check whether an obligation is closed',
  description:
    'Whether the obligation that a receipt created has been closed, and by which receipt: the newest one that names it as parent and has a type that closes it.',
  input,
  output: z.object({
    has_terminator: z
      .boolean()
      .describe('Whether the obligation is closed; false for a receipt that creates no obligation'),
    terminator: receiptShape.optional().describe('The receipt that closed it'),
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  rest: { method: 'GET', path: '/v1/receipts/{receipt_id}/terminator' },
  async run({ engine, retention }, caller, { receipt_id }) {
    const { tenant, receipt, isArchived } = await readReceipt(engine, retention.archive, caller, receipt_id)
    const types = terminatorsOf(receipt.receipt_type)
    if (types.length === 0) return { has_terminator: false }
    if (isArchived) {
      const terminator = (await retention.archive.children(receipt, types)).at(-1)
      if (terminator === undefined) return { has_terminator: false }
      return { has_terminator: true, terminator: receiptView(tenant, terminator) }
    }
    const { reads } = engine.store
    const children = await engine.reading(() => reads.children(tenant.tenant, [receipt.seq], types))
    const newest = Math.max(...children.map((child) => child.seq))
    const terminator =
      children.length === 0 ? undefined : await engine.reading(() => reads.receipt(tenant.tenant, newest))
    if (terminator === undefined) return { has_terminator: false }
    return { has_terminator: true, terminator: receiptView(tenant, terminator) }
  },
})

export const ackReceipt = defineOperation({
  name: 'ack_receipt',
  title: 'Acknowledge a receipt',
  description:
    'Records that you have dealt with a receipt addressed to you. A result then leaves your inbox. Acknowledging a receipt again has no further effect.',
  input,
  output: z.object({
    ok: z.literal(true).describe('Always true'),
    receipt_id: z.string().describe('Id of the receipt that records the acknowledgement'),
  }),
  access: 'acknowledge',
  toolsets: ['agent', 'ledger'],
  rest: { method: 'POST', path: '/v1/receipts/{receipt_id}/ack' },
  effect: WRITES_ONCE,
  async run({ engine }, caller, { receipt_id }) {
    const tenant = await engine.tenant(caller.tenant)
    const { seq } = await engine.submit({
      verb: 'acknowledge',
      tenant: tenant.tenant,
      seq: receiptSeq(engine, tenant, receipt_id),
      by: principalKey(caller.principal),
      role: caller.role,
    })
    return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
  },
})

export function receiptSeq(engine: Engine, tenant: TenantRef, receipt_id: string): number {
  return engine.seqOf(tenant, receipt_id, () => new Fault('RECEIPT_NOT_FOUND', { receipt_id }))
}

/** Both parties of a receipt may read it, and all who may read its task. */
export async function readReceipt(engine: Engine, archive: Archive, caller: Caller, receipt_id: string) {
  const tenant = await engine.tenant(caller.tenant)
  const seq = receiptSeq(engine, tenant, receipt_id)
  const stored = await engine.reading(() => engine.store.reads.receipt(tenant.tenant, seq))
  const receipt = stored ?? (await archive.receipt(tenant.tenant, seq))
  if (receipt === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const self = principalKey(caller.principal)
  if (!seesAll(caller.role) && receipt.to !== self && receipt.from !== self) {
    if (receipt.task_id === null) throw forbidden('admin', caller.role)
    const archived = stored === undefined ? await archive.task(tenant.tenant, receipt.task_id) : undefined
    if (archived !== undefined) checkArchiveReader(archived, caller)
    else checkReader((await readTask(engine, tenant, receipt.task_id)).task, caller)
  }
  return { tenant, receipt, isArchived: stored === undefined }
}
