import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { INBOX_STATES, type InboxItem, isInInbox, stateOf } from '../../core/inbox.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import { askedPrincipal } from '../receipts/obligations.ts'
import type { Services } from '../services.ts'
import { describeItems } from './items.ts'
import { findItems } from './search.ts'
import type { InboxItemView } from './view.ts'

export const listInboxInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  state: z.enum([...INBOX_STATES, 'all']).default('unread'),
  order: z.enum(['oldest', 'newest']).default('oldest'),
  limit: pageLimit,
  cursor: text(512).optional(),
})

export interface InboxPage {
  readonly items: readonly InboxItemView[]
  /** Null at the end. A page may hold fewer than `limit` and still go on. */
  readonly next_cursor: string | null
}

/**
 * The items of an inbox, as they are after this very look. What still waits there counts as delivered to whoever looks
 * at the own inbox.
 */
export async function listInbox(engine: Services, caller: Caller, input: unknown): Promise<InboxPage> {
  checkRole(caller, 'receipts')
  const { state, order, limit, cursor, ...asked } = parse(listInboxInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  await engine.fetches.settledOf(tenant.tenant, principal)
  const scope = { tenant: tenant.tenant, query: { list: 'inbox', principal, state, order } }
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
  const items = isOwn ? await deliver(engine, tenant, principal, found.items) : found.items
  return {
    items: await describeItems(engine, tenant, items),
    next_cursor: found.next === null ? null : await engine.cursors.write(scope, found.next),
  }
}

/** The items as the delivery leaves them. What was put away is only looked up. */
async function deliver(
  engine: Services,
  tenant: TenantRef,
  principal: PrincipalKey,
  items: readonly InboxItem[],
): Promise<readonly InboxItem[]> {
  const waiting = items.filter(isInInbox)
  if (waiting.length === 0) return items
  const delivered = await engine.submit({
    verb: 'mark',
    tenant: tenant.tenant,
    by: principal,
    role: 'agent',
    as: 'delivered',
    items: waiting.map(({ seq }) => ({ principal, seq })),
  })
  const bySeq = new Map(delivered.items.map((item) => [item.seq, item]))
  return items.map((item) => bySeq.get(item.seq) ?? item)
}
