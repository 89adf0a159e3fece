import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { type Caller, PRINCIPAL_KINDS } from '../../core/principal.ts'
import { parse, text } from '../input.ts'
import { askedPrincipal } from '../receipts/obligations.ts'
import type { Services } from '../services.ts'

const DAY_MS = 24 * 3600 * 1000

/** Items that one call looks at, the newest first, so that its cost is bounded whatever the size of the inbox. */
const MAX_COUNTED = 50_000

export const inboxStatsInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  days: z.int().min(1).max(365).default(7),
})

const count = z.int()

export const inboxStatsShape = z.object({
  days: z.int().meta({ description: 'How far back it looks, by when items came in' }),
  items: count,
  is_complete: z
    .boolean()
    .meta({ description: `False if there were more than ${MAX_COUNTED} items to look at` }),
  states: z.object({
    unread: count,
    delivered: count,
    read: count,
    fetched: count,
    promoted: count,
    archived: count,
  }),
  delivered_unread: count.meta({ description: 'Handed over, and nothing done about it since' }),
  fetched_not_promoted: count.meta({ description: 'The result was fetched, and not stored in a memory' }),
  redelivered: count.meta({ description: 'Handed over more than once' }),
  average_seconds_to_fetch: z
    .number()
    .nullable()
    .meta({ description: 'From the first delivery to the fetch of the result' }),
  promotion_rate: z
    .number()
    .nullable()
    .meta({ description: 'Share of the items that were stored in a memory' }),
})

export type InboxStats = z.output<typeof inboxStatsShape>

/** What becomes of the items of an inbox. Asking changes nothing. */
export async function inboxStats(engine: Services, caller: Caller, input: unknown): Promise<InboxStats> {
  checkRole(caller, 'receipts')
  const { days, ...asked } = parse(inboxStatsInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  await engine.fetches.settledOf(tenant, principal)
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
}
