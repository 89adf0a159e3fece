// The index of the package loads ten times as much.
import { diffArrays } from 'diff/lib/diff/array.js'

/** One row of two texts side by side; undefined where a text has no line. */
export interface LinePair {
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Texts with more lines or changes are not compared, because the time grows with the square of the changes. */
const MAX_LINES = 400

/** Two texts side by side: equal lines share a row, and changed lines have their own. */
export function alignLines(before: string, after: string): readonly LinePair[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const isShort = a.length <= MAX_LINES && b.length <= MAX_LINES
  const changes = isShort ? diffArrays(a, b, { maxEditLength: MAX_LINES }) : undefined
  return changes === undefined
    ? Array.from({ length: Math.max(a.length, b.length) }, (_, i) => ({ before: a[i], after: b[i] }))
    : changes.flatMap(({ value, added, removed }) =>
        value.map((line) => ({ before: added ? undefined : line, after: removed ? undefined : line })),
      )
}
