import { z } from 'zod'
import { checkReader, forbidden, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { terminatorsOf } from '../../core/termination.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, READS, WRITES_ONCE } from '../define-operation.ts'
import { readTask } from '../tasks/read-task.ts'
import { receiptId, receiptShape, receiptView, withDeliveries } from './shape.ts'

const input = z.strictObject({ receipt_id: receiptId })

export const getReceipt = defineOperation({
  name: 'get_receipt',
  title: 'Get a receipt',
  description: 'One receipt, with its parents and its body.',
  input,
  output: receiptShape,
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/receipts/{receipt_id}' },
  effect: READS,
  async run({ engine }, caller, { receipt_id }) {
    const { tenant, receipt } = await readReceipt(engine, caller, receipt_id)
    const [view] = await withDeliveries(engine, tenant, [receipt])
    if (view === undefined) throw new Fault('RECEIPT_NOT_FOUND')
    return view
  },
})

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
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/receipts/{receipt_id}/terminator' },
  effect: READS,
  async run({ engine }, caller, { receipt_id }) {
    const { tenant, receipt } = await readReceipt(engine, caller, receipt_id)
    const types = terminatorsOf(receipt.receipt_type)
    if (types.length === 0) return { has_terminator: false }
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
  actor: 'anyone',
  access: 'receipts',
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
async function readReceipt(engine: Engine, caller: Caller, receipt_id: string) {
  const tenant = await engine.tenant(caller.tenant)
  const seq = receiptSeq(engine, tenant, receipt_id)
  const receipt = await engine.reading(() => engine.store.reads.receipt(tenant.tenant, seq))
  if (receipt === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const self = principalKey(caller.principal)
  if (!seesAll(caller.role) && receipt.to !== self && receipt.from !== self) {
    if (receipt.task_id === null) throw forbidden('admin', caller.role)
    checkReader((await readTask(engine, tenant, receipt.task_id)).task, caller)
  }
  return { tenant, receipt }
}
