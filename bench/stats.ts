export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

/** Calls `run` `count` times and returns the duration of each call in milliseconds. */
export async function times(count: number, run: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await run()
    taken.push(performance.now() - start)
  }
  return taken
}
