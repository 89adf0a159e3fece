import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { INBOX_STATES, type InboxItem, isInInbox, stateOf } from '../../core/inbox.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { parse } from '../input.ts'
import { cursor, nextCursor, pageLimit } from '../paging.ts'
import { askedPrincipal, principalFields } from '../principal-input.ts'
import { getReceipt, receiptSeq } from '../receipts/get-receipt.ts'
import { describeItems } from './describe-items.ts'
import { findItems } from './search.ts'
import { type InboxItemView, inboxItemShape } from './shape.ts'

export const listInbox = defineOperation({
  name: 'list_inbox',
  title: 'List the inbox',
  description:
    'Receipts that need your attention: results of your tasks, milestones, questions and anomalies, but not every progress report. Returns unread items unless state asks for others. ' +
    'Get a result with fetch_task_result or get_task, which also marks the item as read; then mark_inbox it as archived, or call ack_receipt. A page may be short: continue with next_cursor until it is null.',
  input: z.strictObject({
    ...principalFields,
    state: z
      .enum([...INBOX_STATES, 'all'])
      .default('unread')
      .describe('Only items in this state. unread includes items that were delivered but not read'),
    order: z.enum(['oldest', 'newest']).default('oldest').describe('Which items come first'),
    limit: pageLimit,
    cursor,
  }),
  output: z.object({
    items: z
      .array(inboxItemShape)
      .readonly()
      .describe('The items, in the state after this call: listing your own inbox delivers its items'),
    next_cursor: nextCursor,
  }),
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/inbox' },
  effect: WRITES,
  example: { principal_id: 'planner', limit: 20 },
  async run({ engine, fetches }, caller, { state, order, limit, cursor, ...asked }) {
    const tenantRef = await engine.tenant(caller.tenant)
    const { tenant } = tenantRef
    const principal = askedPrincipal(caller, asked)
    await fetches.settledOf(tenant, principal)
    const scope = { tenant, query: { list: 'inbox', principal, state, order } }
    const start = order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER
    const found = await findItems(engine, tenant, {
      principal,
      which: state === 'unread' || state === 'delivered' ? 'unread' : 'all',
      from: cursor === undefined ? start : await engine.cursors.read(scope, cursor),
      order: order === 'oldest' ? 'ascending' : 'descending',
      limit,
      fits: (item) => state === 'all' || state === 'unread' || stateOf(item) === state,
    })
    const isOwn = principalKey(caller.principal) === principal
    const items = isOwn ? await deliver(engine, tenant, principal, found.rows) : found.rows
    return {
      items: await describeItems(engine, tenantRef, items),
      next_cursor: found.next === null ? null : await engine.cursors.write(scope, found.next),
    }
  },
})

/** The items after their delivery. Archived and promoted items are not delivered again. */
async function deliver(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey,
  items: readonly InboxItem[],
): Promise<readonly InboxItem[]> {
  const waiting = items.filter(isInInbox)
  if (waiting.length === 0) return items
  const delivered = await engine.submit({
    verb: 'mark',
    tenant,
    by: principal,
    role: 'agent',
    as: 'delivered',
    items: waiting.map(({ seq }) => ({ principal, seq })),
  })
  const bySeq = new Map(delivered.items.map((item) => [item.seq, item]))
  return items.map((item) => bySeq.get(item.seq) ?? item)
}

/** One item of the caller's inbox, or of the addressee's inbox for an admin. It does not count as a delivery. */
export async function getInboxItem(engine: Engine, caller: Caller, input: unknown): Promise<InboxItemView> {
  checkRole(caller, 'receipts')
  const { receipt_id } = parse(getReceipt.input, input)
  const tenant = await engine.tenant(caller.tenant)
  const seq = receiptSeq(engine, tenant, receipt_id)
  const { reads } = engine.store
  const [receipt] = await engine.reading(() => reads.receiptsAt(tenant.tenant, [seq]))
  const principal =
    receipt !== undefined && seesAll(caller.role) ? receipt.to : principalKey(caller.principal)
  const items = await engine.reading(() => reads.items(tenant.tenant, [{ principal, seq }]))
  const [view] = await describeItems(engine, tenant, items)
  if (view === undefined) throw new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  return view
}
