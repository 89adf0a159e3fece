import { z } from 'zod'
import { checkPermission, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { INBOX_STATES, type InboxItem, isInInbox, stateOf } from '../../core/inbox.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { boundedScan, type ScanPage, type ScanQuery, scanPage } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { askedPrincipal, cursor, nextCursor, pageLimit, parse, principalFields } from '../input.ts'
import { getReceipt, receiptSeq } from '../receipts/get-receipt.ts'
import { describeItems } from './describe-items.ts'
import { type InboxItemView, inboxItemShape } from './shape.ts'
import { inboxSummary } from './summary.ts'

interface InboxQuery extends ScanQuery<InboxItem> {
  readonly principal: PrincipalKey
  readonly which: 'all' | 'unread'
  readonly order: 'ascending' | 'descending'
}

export function findItems(
  engine: Engine,
  tenant: number,
  { principal, which, order, ...query }: InboxQuery,
): Promise<ScanPage<InboxItem>> {
  const { reads } = engine.store
  return boundedScan(query, async (position, size) =>
    scanPage(await engine.reading(() => reads.inbox(tenant, principal, which, position, order, size)), size),
  )
}

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
  access: 'receipts',
  toolsets: ['agent', 'ledger'],
  modelFields: ['state', 'order', 'limit', 'cursor'],
  summary: inboxSummary,
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
  checkPermission(caller, 'receipts')
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

const DAY_MS = 24 * 3600 * 1000

/** The newest items count first, so that the cost of a call is bounded whatever the size of the inbox. */
const MAX_COUNTED = 50_000

const count = z.int()

export const inboxStats = defineOperation({
  name: 'inbox_stats',
  title: 'Inbox statistics',
  description:
    'Counts of the items that arrived within the last days, by state; how many were delivered but not read, fetched but not promoted, or delivered more than once; the average time to fetch a result and the share of promoted items. It changes nothing.',
  input: z.strictObject({
    ...principalFields,
    days: z.int().min(1).max(365).default(7).describe('Count the items that arrived within the last n days'),
  }),
  output: z.object({
    days: z.int().describe('The number of days that were counted'),
    items: count.describe('Number of items'),
    is_complete: z.boolean().describe(`False if the limit of ${MAX_COUNTED} items was reached`),
    states: z
      .object({
        unread: count.describe('Not delivered yet'),
        delivered: count.describe('Delivered, not read'),
        read: count.describe('Marked as read, result not fetched'),
        fetched: count.describe('Result fetched'),
        promoted: count.describe('Result stored in a memory'),
        archived: count.describe('Archived or acknowledged'),
      })
      .describe('Number of items by state'),
    delivered_unread: count.describe('Items that were delivered but not read'),
    fetched_not_promoted: count.describe('Items whose result was fetched but not stored in a memory'),
    redelivered: count.describe('Items that were delivered more than once'),
    average_seconds_to_fetch: z
      .number()
      .nullable()
      .describe('Average time from the first delivery to the fetch of the result; null if none was fetched'),
    promotion_rate: z
      .number()
      .nullable()
      .describe('Share of the items whose result was stored in a memory, from 0 to 1; null without items'),
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  modelFields: ['days'],
  rest: { method: 'GET', path: '/v1/inbox/stats' },
  async run({ engine, fetches }, caller, { days, ...asked }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const principal = askedPrincipal(caller, asked)
    await fetches.settledOf(tenant, principal)
    const now = await engine.reading(() => engine.store.now())
    const counts = await engine.reading(() =>
      engine.store.reads.inboxCounts(tenant, principal, now - days * DAY_MS, MAX_COUNTED),
    )
    const { items, unread, delivered, read, fetched, promoted, archived, average_ms_to_fetch } = counts
    return {
      days,
      items,
      is_complete: items < MAX_COUNTED,
      states: { unread, delivered, read, fetched, promoted, archived },
      delivered_unread: delivered,
      fetched_not_promoted: counts.fetched_not_promoted,
      redelivered: counts.redelivered,
      average_seconds_to_fetch: average_ms_to_fetch === null ? null : average_ms_to_fetch / 1000,
      promotion_rate: items === 0 ? null : promoted / items,
    }
  },
})
