import { attemptAvailable } from './failure.ts'

// A statement runs on the thread that serves everybody. Rows that are long are slow to find, as SQLite compares whole
// rows on the way to one, so what takes many rows takes them in slices.

/** How long a slice may take before others have their turn. */
const SLICE_MS = 20

const FIRST_ROWS = 8

/** The rows of a walk along an index, from a seq on, read in slices of so many rows as are quick to read. */
export async function walk<Row extends { readonly seq: number }>(
  from: number,
  limit: number,
  read: (from: number, limit: number) => Row[],
): Promise<Row[]> {
  const rows: Row[] = []
  let position = from
  let size = FIRST_ROWS
  for (;;) {
    const wanted = Math.min(size, limit - rows.length)
    const started = performance.now()
    const slice = attemptAvailable(() => read(position, wanted))
    rows.push(...slice)
    if (slice.length < wanted || rows.length === limit) return rows
    position = slice.at(-1)?.seq ?? position
    if (performance.now() - started < SLICE_MS) {
      size *= 8
    } else {
      size = Math.max(1, size >> 1)
      await turn()
    }
  }
}

/** What is found under these keys; absent ones are left out. */
export async function findEach<Key, Row>(
  keys: readonly Key[],
  find: (key: Key) => Row | undefined,
): Promise<Row[]> {
  const rows: Row[] = []
  let started = performance.now()
  for (const key of keys) {
    const row = attemptAvailable(() => find(key))
    if (row !== undefined) rows.push(row)
    if (performance.now() - started < SLICE_MS) continue
    await turn()
    started = performance.now()
  }
  return rows
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
