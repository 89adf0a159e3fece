import type { Receipt } from '../../core/receipt.ts'
import { boundedScan, type ScanPage, type ScanQuery } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ReceiptLine, ReceiptPath } from '../../store/reads.ts'
import type { Archive, Order } from '../retention/archive.ts'

/** Bodies are read too, and files: fewer receipts are scanned than elsewhere. */
const LIMITS = { scanned: 2000, page: 100 }

interface Query extends ScanQuery<ReceiptLine & Receipt> {
  readonly path: ReceiptPath
  readonly order: Order
}

/** The first receipts that fit, of the ledger and of the archive. The archive has no index by addressee. */
export function findWithArchived(
  engine: Engine,
  archive: Archive,
  tenant: number,
  { path, order, from, limit, fits }: Query,
): Promise<ScanPage<Receipt>> {
  const taskId = path.by === 'task' ? path.task_id : undefined
  return boundedScan<Receipt>(
    { from, limit, fits: (receipt) => fits({ ...receipt, bytes: receipt.body.length }) },
    async (position, size) => {
      const pages = await Promise.all([
        engine.reading(() => engine.store.reads.receipts(tenant, path, position, order, size)),
        archive.receipts(tenant, taskId, position, order, size),
      ])
      return merged(pages, size, order)
    },
    LIMITS,
  )
}

/** Beyond the end of a full page its source may have more, which the other one knows nothing about. */
function merged(pages: readonly (readonly Receipt[])[], size: number, order: Order): ScanPage<Receipt> {
  const ends = pages.flatMap((page) => (page.length < size ? [] : (page.at(-1)?.seq ?? [])))
  const rows = pages.flat().sort((a, b) => (order === 'ascending' ? a.seq - b.seq : b.seq - a.seq))
  if (ends.length === 0) return { rows, next: null }
  const next = order === 'ascending' ? Math.min(...ends) : Math.max(...ends)
  return { rows: rows.filter(({ seq }) => (order === 'ascending' ? seq <= next : seq >= next)), next }
}
