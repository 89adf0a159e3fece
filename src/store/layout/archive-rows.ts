import type { ArchiveFile, ArchiveTotals, Run } from '../retention.ts'
import { one, type Work } from './steps.ts'

export type ArchiveRow = Omit<ArchiveFile, 'runs'> & { readonly runs: string }

const COLUMNS = 'tenant, file, first, last, runs, tasks, receipts, created_at'

export const ARCHIVE_STATEMENTS = {
  with: `SELECT ${COLUMNS} FROM archives WHERE tenant = ? AND last >= ? AND first <= ? ORDER BY last`,
  named: `SELECT ${COLUMNS} FROM archives WHERE tenant = ? AND file = ?`,
  files: `SELECT ${COLUMNS} FROM archives WHERE tenant = ? AND file > ? ORDER BY file LIMIT ?`,
  ascending: `SELECT ${COLUMNS} FROM archives WHERE tenant = ? AND last > ? ORDER BY first LIMIT ?`,
  descending: `SELECT ${COLUMNS} FROM archives WHERE tenant = ? AND first < ? ORDER BY last DESC LIMIT ?`,
  totals: `SELECT count(*) AS files, coalesce(sum(tasks), 0) AS tasks, coalesce(sum(receipts), 0) AS receipts
    FROM archives WHERE tenant = ?`,
  replace: 'UPDATE archives SET file = ? WHERE tenant = ? AND file = ? RETURNING file',
  put: `INSERT INTO archives (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, file) DO UPDATE SET first = excluded.first, last = excluded.last, runs = excluded.runs,
      tasks = excluded.tasks, receipts = excluded.receipts`,
} as const

/** The file that has a seq: of those whose range contains it, the one of whose runs one does. */
export function* archiveWith(tenant: number, seq: number): Work<ArchiveFile | undefined> {
  const rows = yield* one<ArchiveRow>(ARCHIVE_STATEMENTS.with, tenant, seq, seq)
  return rows.map(archiveFile).find(({ runs }) => runs.some(({ first, last }) => first <= seq && seq <= last))
}

export function* archiveNamed(tenant: number, file: string): Work<ArchiveFile | undefined> {
  const [row] = yield* one<ArchiveRow>(ARCHIVE_STATEMENTS.named, tenant, file)
  return row && archiveFile(row)
}

export function* archiveList(
  statement: 'files' | 'ascending' | 'descending',
  tenant: number,
  from: number | string,
  limit: number,
): Work<ArchiveFile[]> {
  return (yield* one<ArchiveRow>(ARCHIVE_STATEMENTS[statement], tenant, from, limit)).map(archiveFile)
}

export function* archiveTotals(tenant: number): Work<ArchiveTotals> {
  const [row] = yield* one<ArchiveTotals>(ARCHIVE_STATEMENTS.totals, tenant)
  return {
    files: Number(row?.files ?? 0),
    tasks: Number(row?.tasks ?? 0),
    receipts: Number(row?.receipts ?? 0),
  }
}

export function* replaceArchive(tenant: number, file: string, by: string): Work<boolean> {
  return (yield* one(ARCHIVE_STATEMENTS.replace, by, tenant, file)).length > 0
}

/** Adds receipts to those that a file is known to contain. */
export function* addToArchive(
  tenant: number,
  file: string,
  seqs: readonly number[],
  tasks: number,
  now: number,
): Work<void> {
  const known = yield* archiveNamed(tenant, file)
  const all = [...(known === undefined ? [] : seqsIn(known.runs)), ...seqs].sort((a, b) => a - b)
  const runs = runsOf(all)
  const range = [runs.at(0)?.first ?? 0, runs.at(-1)?.last ?? 0]
  const counts = [(known?.tasks ?? 0) + tasks, all.length, known?.created_at ?? now]
  yield* one(ARCHIVE_STATEMENTS.put, tenant, file, ...range, encodeRuns(runs), ...counts)
}

/** The runs of ascending seqs. */
export function runsOf(seqs: readonly number[]): Run[] {
  const runs: Run[] = []
  for (const seq of seqs) {
    const run = runs.at(-1)
    if (run?.last === seq - 1) runs[runs.length - 1] = { first: run.first, last: seq }
    else runs.push({ first: seq, last: seq })
  }
  return runs
}

export function seqsIn(runs: readonly Run[]): number[] {
  return runs.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, n) => first + n))
}

/** Each run as its distance from the end of the one before, and its length. */
function encodeRuns(runs: readonly Run[]): string {
  let end = 0
  return runs
    .map(({ first, last }) => {
      const text = `${first - end}+${last - first}`
      end = last
      return text
    })
    .join(' ')
}

function decodeRuns(text: string): Run[] {
  let end = 0
  return text.split(' ').map((run) => {
    const [distance = 0, length = 0] = run.split('+').map(Number)
    const first = end + distance
    end = first + length
    return { first, last: end }
  })
}

function archiveFile(row: ArchiveRow): ArchiveFile {
  return { ...row, runs: decodeRuns(row.runs) }
}
