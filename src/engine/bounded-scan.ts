import { nextTurn } from '../util/turns.ts'

/** One page of rows in scan order. */
export interface ScanPage<Row, Position = number> {
  readonly rows: readonly Row[]
  /** The position to continue from; null if no rows are left. */
  readonly next: Position | null
}

export interface ScanQuery<Row, Position = number> {
  /** The scan starts behind this seq, in its own direction. */
  readonly from: Position
  /** Maximum number of rows to return. */
  readonly limit: number
  fits(row: Row): boolean
}

export interface ScanLimits {
  /** Maximum number of rows that one scan reads, whether they fit or not. */
  readonly scanned: number
  /** Rows per page. */
  readonly page: number
}

const DEFAULT_LIMITS: ScanLimits = { scanned: 10_000, page: 500 }

/**
 * The first rows that fit. A scan reads a bounded number of rows, so a rare match never costs a full scan: the result may
 * hold fewer rows than the limit although `next` is not null. Other work can run between two pages.
 */
export async function boundedScan<Row extends { readonly seq: number | string }>(
  { from, limit, fits }: ScanQuery<Row, Row['seq']>,
  readPage: (position: Row['seq'], size: number) => Promise<ScanPage<Row, Row['seq']>>,
  limits: ScanLimits = DEFAULT_LIMITS,
): Promise<ScanPage<Row, Row['seq']>> {
  const rows: Row[] = []
  let position = from
  // The first page is usually enough, so it is no larger than necessary.
  let size = Math.min(limit + 1, limits.page)
  for (let scanned = 0; scanned < limits.scanned; scanned += limits.page) {
    if (scanned > 0) await nextTurn()
    const page = await readPage(position, size)
    for (const row of page.rows) {
      if (!fits(row)) continue
      if (rows.length === limit) return { rows, next: position }
      rows.push(row)
      position = row.seq
    }
    if (page.next === null) return { rows, next: null }
    position = page.next
    size = limits.page
  }
  return { rows, next: position }
}

/** The page for a query that returned `rows` for a LIMIT of `size`. A short page is the last one. */
export function scanPage<Row extends { readonly seq: number | string }>(
  rows: readonly Row[],
  size: number,
): ScanPage<Row, Row['seq']> {
  return { rows, next: rows.length < size ? null : (rows.at(-1)?.seq ?? null) }
}
