/** One row of two texts side by side; undefined where a text has no line. */
export interface LinePair {
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Longer texts are not compared, because that costs the product of their lengths. */
const MAX_LINES = 400

/** Two texts side by side: equal lines share a row, and changed lines have their own. */
export function alignLines(before: string, after: string): readonly LinePair[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  if (a.length > MAX_LINES || b.length > MAX_LINES) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => ({ before: a[i], after: b[i] }))
  }
  const common = commonLengths(a, b)
  const pairs: LinePair[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) pairs.push({ before: a[i++], after: b[j++] })
    else if (j >= b.length || (i < a.length && at(common, i + 1, j) >= at(common, i, j + 1)))
      pairs.push({ before: a[i++], after: undefined })
    else pairs.push({ before: undefined, after: b[j++] })
  }
  return pairs
}

/** The length of the longest common subsequence of the lines from each pair of positions on. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint16Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    const [row, below] = [rows[i], rows[i + 1]]
    if (row === undefined || below === undefined) continue
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return rows
}

function at(rows: readonly Uint16Array[], i: number, j: number): number {
  return rows[i]?.[j] ?? 0
}
