import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { boundedScan, type ScanPage, type ScanQuery, scanPage } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'
import { readReceipts } from '../../engine/portions.ts'
import type { ReceiptLine, ReceiptPath, TaskLine } from '../../store/reads.ts'

interface ReceiptQuery extends ScanQuery<ReceiptLine> {
  readonly path: ReceiptPath
  readonly order: 'ascending' | 'descending'
}

/** The first receipts that fit. The scan reads narrow rows; only the bodies of the receipts it found are loaded. */
export async function findReceipts(
  engine: Engine,
  tenant: number,
  { path, order, ...query }: ReceiptQuery,
): Promise<ScanPage<Receipt>> {
  const { reads } = engine.store
  const { rows: lines, next } = await boundedScan(query, async (position, size) =>
    scanPage(await engine.reading(() => reads.receiptLines(tenant, path, position, order, size)), size),
  )
  const { rows, covered } = await readReceipts(engine, tenant, lines)
  return { rows, next: covered < lines.length ? (lines[covered - 1]?.seq ?? next) : next }
}

/** An obligation costs two reads, so fewer are scanned than elsewhere. */
const OBLIGATION_LIMITS = { scanned: 2000, page: 200 }

/**
 * The oldest tasks that are owed to a principal. The seq of a task is that of its assignment. An open schedule is an
 * obligation too, but the task that asked for it has ended, so only assignments count.
 */
export function findOwedTasks(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey,
  query: ScanQuery<TaskLine>,
): Promise<ScanPage<TaskLine>> {
  const { reads } = engine.store
  return boundedScan(
    query,
    async (position, size) => {
      const owed = await engine.reading(() => reads.obligationLines(tenant, principal, position, size))
      const ids = owed.flatMap(({ receipt_type, task_id }) =>
        receipt_type === 'task.assigned' && task_id !== null ? [task_id] : [],
      )
      const rows = await engine.reading(() => reads.lines(tenant, ids))
      return { ...scanPage(owed, size), rows: rows.sort((a, b) => a.seq - b.seq) }
    },
    OBLIGATION_LIMITS,
  )
}
