/** The name that was probably meant, if one is close enough. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const ranked = known.map((candidate) => ({ candidate, steps: distance(name, candidate) }))
  ranked.sort((a, b) => a.steps - b.steps)
  const [best] = ranked
  const allowed = name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 4))
  return best !== undefined && best.steps <= allowed ? best.candidate : undefined
}

/** Letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const [up = 0, left = 0, corner = 0] = [above[j], row[j - 1], above[j - 1]]
      row.push(Math.min(up + 1, left + 1, corner + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    above = row
  }
  return above[b.length] ?? 0
}
