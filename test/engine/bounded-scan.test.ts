import { describe, expect, it } from 'vitest'
import { boundedScan, type ScanPage, scanPage } from '../../src/engine/bounded-scan.ts'

/** Rows with seq 1 to `count`, read in ascending order. */
function table(count: number) {
  const sizes: number[] = []
  const read = async (position: number, size: number) => {
    sizes.push(size)
    const rows = Array.from({ length: Math.max(0, Math.min(size, count - position)) }, (_, n) => ({
      seq: position + n + 1,
    }))
    return scanPage(rows, size)
  }
  return { sizes, read }
}

const LIMITS = { scanned: 40, page: 10 }
const seqs = ({ rows }: { rows: readonly { seq: number }[] }) => rows.map(({ seq }) => seq)

describe('boundedScan', () => {
  it('a scan that finds enough rows reads one small page', async () => {
    const { sizes, read } = table(100)
    const found = await boundedScan({ from: 0, limit: 3, fits: () => true }, read, LIMITS)
    expect(seqs(found)).toEqual([1, 2, 3])
    expect(found.next).toBe(3)
    expect(sizes).toEqual([4])
  })

  it('a scan that ends with the last row has no next position', async () => {
    const { read } = table(3)
    const found = await boundedScan({ from: 0, limit: 3, fits: () => true }, read, LIMITS)
    expect(found).toEqual({ rows: [{ seq: 1 }, { seq: 2 }, { seq: 3 }], next: null })
  })

  it('a scan for a rare row stops at the limit of scanned rows and can be continued', async () => {
    const { sizes, read } = table(100)
    const query = { limit: 3, fits: ({ seq }: { seq: number }) => seq === 90 }
    const found = []
    let from: number | null = 0
    for (let calls = 0; from !== null && calls < 10; calls++) {
      const page: ScanPage<{ seq: number }> = await boundedScan({ from, ...query }, read, LIMITS)
      found.push(...seqs(page))
      from = page.next
    }
    expect(from).toBeNull()
    expect(found).toEqual([90])
    expect(sizes.slice(0, 4)).toEqual([4, 10, 10, 10])
  })

  it('continuing from next returns every matching row once', async () => {
    const { read } = table(57)
    const found = []
    for (let from: number | null = 0; from !== null; ) {
      const query = { from, limit: 4, fits: ({ seq }: { seq: number }) => seq % 3 === 0 }
      const page: ScanPage<{ seq: number }> = await boundedScan(query, read, LIMITS)
      found.push(...seqs(page))
      from = page.next
    }
    expect(found).toEqual(Array.from({ length: 19 }, (_, n) => (n + 1) * 3))
  })
})
