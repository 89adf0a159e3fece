import type { Receipt } from '../../core/receipt.ts'
import { readReceipts } from '../../engine/portions.ts'
import type { ReceiptLine, ReceiptPath } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'

/** Rows that one search looks at before it hands back what it has. A rare match never costs a full scan. */
const MAX_SCANNED = 10_000
const PAGE = 500

export type ReceiptOrder = 'ascending' | 'descending'

export interface ReceiptQuery {
  readonly path: ReceiptPath
  /** A seq: receipts from above it if ascending, else from below it. */
  readonly from: number
  readonly order: ReceiptOrder
  readonly limit: number
  fits(receipt: ReceiptLine): boolean
}

export interface FoundReceipts {
  readonly receipts: readonly Receipt[]
  /** Where to go on; null at the end. A page may be short and still go on. */
  readonly next: number | null
}

/** The first receipts that fit. It looks at a bounded number of narrow rows, and reads the bodies of hits only. */
export async function findReceipts(
  engine: Services,
  { tenant }: TenantRef,
  query: ReceiptQuery,
): Promise<FoundReceipts> {
  const { lines, next } = await findLines(engine, tenant, query)
  const { rows, covered } = await readReceipts(engine, tenant, lines)
  return { receipts: rows, next: covered < lines.length ? (lines[covered - 1]?.seq ?? next) : next }
}

async function findLines(engine: Services, tenant: number, query: ReceiptQuery) {
  const { path, order, limit } = query
  const lines: ReceiptLine[] = []
  let position = query.from
  // Usually the first look is enough.
  let size = Math.min(limit + 1, PAGE)
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const page = await engine.reading(() =>
      engine.store.reads.receiptLines(tenant, path, position, order, size),
    )
    for (const line of page) {
      if (!query.fits(line)) continue
      if (lines.length === limit) return { lines, next: position }
      lines.push(line)
      position = line.seq
    }
    if (page.length < size) return { lines, next: null }
    position = page.at(-1)?.seq ?? position
    size = PAGE
  }
  return { lines, next: position }
}
