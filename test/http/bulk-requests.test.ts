import { describe, expect, it } from 'vitest'
import { BulkRequests } from '../../src/http/bulk-requests.ts'

const LARGE = 'x'.repeat(1024 * 1024)

/** Work that ends when it is told to. */
function controlled() {
  const started: number[] = []
  const ends: (() => void)[] = []
  const work = (i: number) => async () => {
    started.push(i)
    await new Promise<void>((resolve) => ends.push(resolve))
    return i
  }
  return { started, work, endFirst: () => ends.shift()?.() }
}

const settled = () => new Promise(setImmediate)

describe('bulk requests', () => {
  it('four large requests run at a time, and the next one starts when one of them has ended', async () => {
    const bulk = new BulkRequests(Number.POSITIVE_INFINITY)
    const { started, work, endFirst } = controlled()
    const results = [0, 1, 2, 3, 4, 5].map((i) => bulk.run(LARGE, work(i)))
    await settled()
    expect(started).toEqual([0, 1, 2, 3])
    endFirst()
    await settled()
    expect(started).toEqual([0, 1, 2, 3, 4])
    for (const _ of results) {
      endFirst()
      await settled()
    }
    expect(await Promise.all(results)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('small requests do not wait for each other', async () => {
    const bulk = new BulkRequests(Number.POSITIVE_INFINITY)
    const { started, work } = controlled()
    for (let i = 0; i < 100; i++) void bulk.run('x'.repeat(1000), work(i))
    await settled()
    expect(started).toHaveLength(100)
  })

  it('a request that fails lets the next one start', async () => {
    const bulk = new BulkRequests(Number.POSITIVE_INFINITY)
    const failing = () => Promise.reject(new Error('broken'))
    const results = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6, 7].map(() => bulk.run(LARGE, failing)))
    expect(results.map((result) => result.status)).toEqual(Array(8).fill('rejected'))
    expect(await bulk.run(LARGE, async () => 'done')).toBe('done')
  })

  it('a request that has waited for the longest time allowed runs beside the others', async () => {
    const bulk = new BulkRequests(Number.POSITIVE_INFINITY, 20)
    const { started, work, endFirst } = controlled()
    const results = [0, 1, 2, 3, 4].map((i) => bulk.run(LARGE, work(i)))
    await expect.poll(() => started).toEqual([0, 1, 2, 3, 4])
    for (const _ of results) endFirst()
    expect(await Promise.all(results)).toEqual([0, 1, 2, 3, 4])
    expect(await bulk.run(LARGE, async () => 'done')).toBe('done')
  })

  it('a request is refused while too much text is waiting', async () => {
    const bulk = new BulkRequests(6 * LARGE.length)
    const { work, endFirst } = controlled()
    const accepted = [0, 1, 2, 3, 4, 5].map((i) => bulk.run(LARGE, work(i)))
    await expect(bulk.run(LARGE, work(6))).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { waiting_bytes: 6 * LARGE.length },
    })
    for (const _ of accepted) {
      endFirst()
      await settled()
    }
    expect(await Promise.all(accepted)).toEqual([0, 1, 2, 3, 4, 5])
    expect(await bulk.run(LARGE, async () => 'done')).toBe('done')
  })
})
