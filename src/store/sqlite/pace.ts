import { firstTurn, nextTurn } from '../../util/turns.ts'
import { attemptAvailable } from './failure.ts'

// A statement runs on the thread that serves everybody. Long rows are slow to find, because SQLite compares whole rows
// on the way to one, so a read of many rows is done in slices.

/** How long a slice may take before others have their turn. */
const SLICE_MS = 10

/** The rows of a walk along an index, from a seq on. `read` starts the walk at a position. */
export async function walk<Row extends { readonly seq: number }>(
  from: number,
  limit: number,
  read: (from: number, limit: number) => Iterable<Row>,
): Promise<Row[]> {
  const rows: Row[] = []
  await firstTurn()
  while (
    !attemptAvailable(() => readSlice(rows, limit, read(rows.at(-1)?.seq ?? from, limit - rows.length)))
  ) {
    await nextTurn()
  }
  return rows
}

/** Adds rows until they are all there, which is true then, or the slice is over. */
function readSlice<Row>(rows: Row[], limit: number, found: Iterable<Row>): boolean {
  const started = performance.now()
  for (const row of found) {
    rows.push(row)
    // Leaving the loop ends the statement.
    if (performance.now() - started > SLICE_MS) return rows.length === limit
  }
  return true
}

/** What is found under these keys; absent ones are left out. */
export async function findEach<Key, Row>(
  keys: readonly Key[],
  find: (key: Key) => Row | undefined,
): Promise<Row[]> {
  const rows: Row[] = []
  await firstTurn()
  let started = performance.now()
  for (const key of keys) {
    if (performance.now() - started > SLICE_MS) {
      await nextTurn()
      started = performance.now()
    }
    const row = attemptAvailable(() => find(key))
    if (row !== undefined) rows.push(row)
  }
  return rows
}
