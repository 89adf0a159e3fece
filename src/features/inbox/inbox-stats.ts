import { z } from 'zod'
import { defineOperation, READS } from '../define-operation.ts'
import { askedPrincipal, principalFields } from '../principal-input.ts'

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
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/inbox/stats' },
  effect: READS,
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
