import type { Receipt } from '../../src/core/receipt.ts'
import type { Store, TenantRef } from '../../src/store/store.ts'

const PAGE = 1000

/** Every receipt of a tenant, oldest first. */
export async function allReceipts(store: Store, { tenant }: TenantRef): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (;;) {
    const after = receipts.at(-1)?.seq ?? 0
    const page = await store.reads.receipts(tenant, { by: 'all' }, after, 'ascending', PAGE)
    receipts.push(...page)
    if (page.length < PAGE) return receipts
  }
}

/** Counts the items by the name that `nameOf` returns. */
export function tally<Item>(items: Iterable<Item>, nameOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) {
    const name = nameOf(item)
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
