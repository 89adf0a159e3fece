import { formatPatch, OMIT_HEADERS, type StructuredPatch, structuredPatch } from 'diff'

const CONTEXT = 3
/** Larger changes are shown as one block that is removed and one that is added. */
const MAX_CHANGED_LINES = 2000

/** A unified diff of two texts; empty if they are equal. */
export function unifiedDiff(before: string, after: string, name: string): string[] {
  if (before === after) return []
  const options = { context: CONTEXT, maxEditLength: MAX_CHANGED_LINES }
  const patch =
    structuredPatch(name, name, before, after, undefined, undefined, options) ??
    wholePatch(before, after, name)
  // The headers of the package have escapes in names that are not ASCII.
  const hunks = formatPatch(patch, OMIT_HEADERS).slice(0, -1).split('\n')
  return [`--- ${before === '' ? '/dev/null' : name}`, `+++ ${name}`, ...hunks]
}

function wholePatch(before: string, after: string, name: string): StructuredPatch {
  const removal = structuredPatch(name, name, before, '')
  const addition = structuredPatch(name, name, '', after)
  const lines = [...removal.hunks, ...addition.hunks].flatMap((hunk) => hunk.lines)
  const oldLines = removal.hunks[0]?.oldLines ?? 0
  const newLines = addition.hunks[0]?.newLines ?? 0
  return { ...removal, hunks: [{ oldStart: 1, oldLines, newStart: 1, newLines, lines }] }
}
