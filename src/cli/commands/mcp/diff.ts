const CONTEXT = 3
/** Larger changes are shown as one block that is removed and one that is added. */
const MAX_CELLS = 1_000_000

type Line = readonly [mark: ' ' | '-' | '+', text: string]

/** A unified diff of two texts; empty if they are equal. */
export function unifiedDiff(before: string, after: string, name: string): string[] {
  if (before === after) return []
  const lines = compare(linesOf(before), linesOf(after))
  return [`--- ${before === '' ? '/dev/null' : name}`, `+++ ${name}`, ...hunksOf(lines)]
}

function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`]
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const same = (lines: readonly string[]): Line[] => lines.map((text) => [' ', text])
  return [
    ...same(before.slice(0, head)),
    ...changes(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ]
}

/** The lines of a longest common subsequence stay; the others are removed or added. */
function changes(before: readonly string[], after: readonly string[]): Line[] {
  const removed = before.map((text): Line => ['-', text])
  const added = after.map((text): Line => ['+', text])
  if (before.length * after.length > MAX_CELLS) return [...removed, ...added]
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push([' ', before[i] ?? ''])
      i += 1
      j += 1
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      lines.push(['-', before[i] ?? ''])
      i += 1
    } else {
      lines.push(['+', after[j] ?? ''])
      j += 1
    }
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)]
}

function hunksOf(lines: readonly Line[]): string[] {
  const isShown = lines.map((_, i) =>
    lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some(([mark]) => mark !== ' '),
  )
  const output: string[] = []
  let [oldLine, newLine] = [1, 1]
  for (let i = 0; i < lines.length; ) {
    const end = isShown[i] === true ? isShown.indexOf(false, i) : i + 1
    const hunk = lines.slice(i, end < 0 ? lines.length : end)
    const olds = hunk.filter(([mark]) => mark !== '+').length
    const news = hunk.filter(([mark]) => mark !== '-').length
    if (isShown[i] === true) {
      output.push(`@@ -${range(oldLine, olds)} +${range(newLine, news)} @@`)
      for (const [mark, text] of hunk) output.push(...`${mark}${text}`.split('\n'))
    }
    oldLine += olds
    newLine += news
    i += hunk.length
  }
  return output
}

function range(first: number, count: number): string {
  return count === 1 ? String(first) : `${count === 0 ? first - 1 : first},${count}`
}
