import type { Receipt } from '../core/receipt.ts'
import type { ReceiptLine, TaskLine, TaskRecord } from '../store/reads.ts'
import type { Store } from '../store/store.ts'
import { nextTurn } from '../util/turns.ts'

/** Maximum stored text in one response. A longer list continues at its cursor. */
export const PAGE_BYTES = 8 * 1024 * 1024

/** Maximum stored text that one query reads. */
const PORTION_BYTES = 1024 * 1024

/** Maximum rows of a portion. */
const PORTION_ROWS = 200

type Sized = { readonly bytes: number }

interface Reader {
  readonly store: Pick<Store, 'reads'>
  reading<T>(read: () => Promise<T>): Promise<T>
}

/** Complete rows for the first lines, as many as fit into a page. */
export interface Portions<Row> {
  readonly rows: readonly Row[]
  /** The number of lines that the page covers: all unless the page is full. */
  readonly covered: number
}

/**
 * The complete tasks of these lines, in order, until they fill a page. Large ones are read a few at a time, which bounds
 * the memory and the time of one turn of the event loop.
 */
export function readRecords(
  engine: Reader,
  tenant: number,
  lines: readonly TaskLine[],
  limit = PAGE_BYTES,
): Promise<Portions<TaskRecord>> {
  const read = (portion: readonly TaskLine[]) => {
    const ids = portion.map((line) => line.task_id)
    return engine.reading(() => engine.store.reads.tasks(tenant, ids))
  }
  return inPortions(lines, limit, read, ({ task }) => task.seq, recordBytes)
}

/** The same for receipts. */
export function readReceipts(
  engine: Reader,
  tenant: number,
  lines: readonly Pick<ReceiptLine, 'seq' | 'bytes'>[],
  limit = PAGE_BYTES,
): Promise<Portions<Receipt>> {
  const read = (portion: readonly { readonly seq: number }[]) => {
    const seqs = portion.map((line) => line.seq)
    return engine.reading(() => engine.store.reads.receiptsAt(tenant, seqs))
  }
  return inPortions(
    lines,
    limit,
    read,
    ({ seq }) => seq,
    ({ body }) => body.length,
  )
}

async function inPortions<Line extends Sized & { readonly seq: number }, Row>(
  lines: readonly Line[],
  limit: number,
  read: (portion: readonly Line[]) => Promise<Row[]>,
  seqOf: (row: Row) => number,
  bytesOf: (row: Row) => number,
): Promise<Portions<Row>> {
  const rows: Row[] = []
  let covered = 0
  let bytes = 0
  while (covered < lines.length && bytes < limit) {
    if (covered > 0) await nextTurn()
    const portion = firstPortion(lines, covered)
    covered += portion.length
    const found = new Map((await read(portion)).map((row) => [seqOf(row), row]))
    for (const { seq } of portion) {
      const row = found.get(seq)
      if (row === undefined) continue
      rows.push(row)
      bytes += bytesOf(row)
    }
  }
  return { rows, covered }
}

/** The lines of the next portion, at least one. */
function firstPortion<Line extends Sized>(lines: readonly Line[], from: number): readonly Line[] {
  let end = from
  let bytes = 0
  while (end < lines.length && end - from < PORTION_ROWS) {
    bytes += lines[end]?.bytes ?? 0
    if (bytes > PORTION_BYTES && end > from) break
    end++
  }
  return lines.slice(from, end)
}

/** Visits complete tasks one after the other without keeping them, for callers that need little of many tasks. */
export async function eachRecord(
  engine: Reader,
  tenant: number,
  taskIds: Iterable<string>,
  see: (record: TaskRecord) => void,
): Promise<void> {
  const ids = [...new Set(taskIds)]
  if (ids.length === 0) return
  let lines: readonly TaskLine[] = await engine.reading(() => engine.store.reads.lines(tenant, ids))
  while (lines.length > 0) {
    const { rows, covered } = await readRecords(engine, tenant, lines, 1)
    for (const record of rows) see(record)
    lines = lines.slice(covered)
    if (lines.length > 0) await nextTurn()
  }
}

/** The length of the texts of a task. */
function recordBytes({ task, spec, progress, questions }: TaskRecord): number {
  let bytes = spec.input.length + (progress?.progress.length ?? 0)
  for (const { request, answer } of questions) bytes += request.length + (answer?.length ?? 0)
  if ('outcome' in task) {
    const { result, error, artifacts } = task.outcome
    bytes += (result?.length ?? 0) + (error?.length ?? 0) + (artifacts?.length ?? 0)
  }
  return bytes
}
