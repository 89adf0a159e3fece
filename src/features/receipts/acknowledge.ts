import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { parse, text } from '../input.ts'
import type { Services } from '../services.ts'

export const acknowledgeInput = z.strictObject({ receipt_id: text(64) })

export async function acknowledge(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'receipts')
  const { receipt_id } = parse(acknowledgeInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const { seq } = await engine.submit({
    verb: 'acknowledge',
    tenant: tenant.tenant,
    seq: engine.seqOf(tenant, receipt_id, () => new Fault('RECEIPT_NOT_FOUND', { receipt_id })),
    by: principalKey(caller.principal),
    role: caller.role,
  })
  return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
}
