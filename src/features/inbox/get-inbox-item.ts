import { checkRole, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { parse } from '../input.ts'
import { getReceiptInput } from '../receipts/receipts.ts'
import type { Services } from '../services.ts'
import { describeItems } from './items.ts'
import type { InboxItemView } from './view.ts'

/** One item of the own inbox; for who sees all, that of the addressee. Looking at it changes nothing. */
export async function getInboxItem(engine: Services, caller: Caller, input: unknown): Promise<InboxItemView> {
  checkRole(caller, 'receipts')
  const { receipt_id } = parse(getReceiptInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const absent = () => new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const seq = engine.seqOf(tenant, receipt_id, absent)
  const { reads } = engine.store
  const [receipt] = await engine.reading(() => reads.receiptsAt(tenant.tenant, [seq]))
  const own = principalKey(caller.principal)
  const principal = receipt !== undefined && seesAll(caller.role) ? receipt.to : own
  const items = await engine.reading(() => reads.items(tenant.tenant, [{ principal, seq }]))
  const [view] = await describeItems(engine, tenant, items)
  if (view === undefined) throw absent()
  return view
}
