import type { InboxItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'

/** Rows that one search looks at before it hands back what it has. */
const MAX_SCANNED = 10_000
const PAGE = 500

export interface InboxQuery {
  readonly principal: PrincipalKey
  readonly which: 'all' | 'unread'
  /** Of a seq; from above it if ascending, else from below it. */
  readonly from: number
  readonly order: 'ascending' | 'descending'
  readonly limit: number
  fits(item: InboxItem): boolean
}

export interface FoundItems {
  readonly items: readonly InboxItem[]
  /** The seq to go on from; null at the end. A page may be short and still go on. */
  readonly next: number | null
}

/** The first items that fit, looking at a bounded number of rows. */
export async function findItems(
  engine: Services,
  { tenant }: TenantRef,
  query: InboxQuery,
): Promise<FoundItems> {
  const { principal, which, order, limit } = query
  const items: InboxItem[] = []
  let position = query.from
  // Usually the first look is enough.
  let size = limit + 1
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const page = await engine.reading(() =>
      engine.store.reads.inbox(tenant, principal, which, position, order, size),
    )
    for (const item of page) {
      if (!query.fits(item)) continue
      if (items.length === limit) return { items, next: position }
      items.push(item)
      position = item.seq
    }
    if (page.length < size) return { items, next: null }
    position = page.at(-1)?.seq ?? position
    size = PAGE
  }
  return { items, next: position }
}
