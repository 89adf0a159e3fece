import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ToolList } from '../../../src/gateway/upstreams/connection.ts'
import { type ToolSource, ToolWatch } from '../../../src/gateway/upstreams/list-watch.ts'
import { web } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A watch on an upstream that counts its list requests. */
function watched(list: () => Promise<ToolList<unknown>>) {
  const failures: unknown[] = []
  let lists = 0
  let changed = () => {}
  const connection: ToolSource = {
    isModern: true,
    async list(read) {
      lists += 1
      const { tools, ttlMs } = await list()
      return { tools: tools.map(read), ttlMs }
    },
    onListChanged: (_, callback) => {
      changed = callback
    },
  }
  const watch = new ToolWatch({
    record: web('https://x.example/mcp'),
    pin: async () => {},
    pins: () => new Map(),
    changed: () => {},
    failed: (error) => failures.push(error),
  })
  return { watch, failures, lists: () => lists, say: () => changed(), begin: () => watch.begin(connection) }
}

describe('tool list of an upstream', () => {
  it.each([
    [undefined, 300_000],
    [60_000, 60_000],
    [5, 10_000],
    [99_000_000, 3_600_000],
  ])('the list is read again when it expires: with a hint of %s after %i ms', async (ttlMs, age) => {
    const { begin, lists } = watched(async () => ({ tools: [], ttlMs }))
    await begin()
    await vi.advanceTimersByTimeAsync(age - 1)
    expect(lists()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(lists()).toBe(2)
  })

  it('a list that changes constantly is read at most once per second', async () => {
    const { begin, lists, say } = watched(async () => ({ tools: [], ttlMs: undefined }))
    await begin()
    for (let n = 0; n < 250; n++) {
      say()
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(lists()).toBe(3)
    await vi.advanceTimersByTimeAsync(5000)
    expect(lists()).toBe(4)
  })

  it('a list that changes while it is being read is read again', async () => {
    let answer = () => {}
    const slow = () =>
      new Promise<ToolList<unknown>>((resolve) => {
        answer = () => resolve({ tools: [], ttlMs: undefined })
      })
    const { begin, lists, say } = watched(slow)
    const begun = begin()
    say()
    say()
    answer()
    await begun
    await vi.advanceTimersByTimeAsync(1000)
    expect(lists()).toBe(2)
  })

  it('the previous list is used when a read fails, and the read is retried', async () => {
    const tool = { name: 'a', inputSchema: { type: 'object' } }
    let fails = false
    const { begin, failures, lists, say, watch } = watched(async () => {
      if (fails) throw new Error('not now')
      return { tools: [tool], ttlMs: undefined }
    })
    await begin()
    fails = true
    say()
    await vi.advanceTimersByTimeAsync(1000)
    expect([failures.length, lists(), watch.catalogue.size]).toEqual([1, 2, 1])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lists()).toBe(3)
    await watch.end()
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect([lists(), watch.catalogue.size]).toEqual([3, 1])
  })
})
