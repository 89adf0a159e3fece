import type { Receipt } from '../../core/receipt.ts'
import type { ReceiptPath } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Engine } from '../engine.ts'

const MAX_SCANNED = 10_000
const PAGE = 500

export interface ReceiptQuery {
  readonly path: ReceiptPath
  readonly after: number
  readonly limit: number
  fits(receipt: Receipt): boolean
}

export interface FoundReceipts {
  readonly receipts: readonly Receipt[]
  /** Where to go on; null at the end. A page may be short and still go on. */
  readonly next: number | null
}

/** The oldest receipts that fit, from above `after`, looking at a bounded number of rows. */
export async function findReceipts(
  engine: Engine,
  tenant: TenantRef,
  query: ReceiptQuery,
): Promise<FoundReceipts> {
  const receipts: Receipt[] = []
  let position = query.after
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    const page = await engine.reading(() =>
      engine.store.reads.receipts(tenant.tenant, query.path, position, 'ascending', PAGE),
    )
    for (const receipt of page) {
      if (!query.fits(receipt)) continue
      if (receipts.length === query.limit) return { receipts, next: position }
      receipts.push(receipt)
      position = receipt.seq
    }
    if (page.length < PAGE) return { receipts, next: null }
    position = page.at(-1)?.seq ?? position
  }
  return { receipts, next: position }
}
