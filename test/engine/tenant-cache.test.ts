import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { TenantCopies } from '../../src/engine/tenant-cache.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A source whose reads resolve when the test says so. */
function slowSource(shared = true) {
  const readings: ((value: string) => void)[] = []
  const replaced = vi.fn()
  const report = vi.fn()
  const copies = new TenantCopies<string>({
    shared,
    read: () => new Promise((resolve) => readings.push(resolve)),
    replaced: (_, after, before) => replaced(after, before),
    report,
  })
  return { copies, readings, replaced, report }
}

/** Lets settled promises run their callbacks. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('tenant cache', () => {
  it('concurrent loads share one read', async () => {
    const { copies, readings } = slowSource()
    const asked = [copies.load(1), copies.load(1)]
    expect(copies.known(1)).toBeUndefined()
    expect(readings).toHaveLength(1)
    readings[0]?.('a')
    expect(await Promise.all(asked)).toEqual(['a', 'a'])
    expect(copies.known(1)).toBe('a')
    expect(copies.known(2)).toBeUndefined()
  })

  it('a later value is never replaced by a read that began earlier', async () => {
    const { copies, readings, replaced } = slowSource()
    const first = copies.refresh(1)
    const second = copies.refresh(1)
    readings[1]?.('new')
    expect(await second).toBe('new')
    readings[0]?.('old')
    expect(await first).toBe('new')
    expect(copies.known(1)).toBe('new')
    expect(replaced).not.toHaveBeenCalled()
  })

  it('fresh reads after the call, with one read for all concurrent callers', async () => {
    const { copies, readings } = slowSource()
    const first = [copies.fresh(1), copies.fresh(1)]
    await settle()
    expect(readings).toHaveLength(1)
    // The read in progress may have missed the changes that these calls must see.
    const second = [copies.fresh(1), copies.fresh(1), copies.fresh(1)]
    await settle()
    expect(readings).toHaveLength(1)
    readings[0]?.('a')
    expect(await Promise.all(first)).toEqual(['a', 'a'])
    await settle()
    expect(readings).toHaveLength(2)
    readings[1]?.('b')
    expect(await Promise.all(second)).toEqual(['b', 'b', 'b'])
    const third = copies.fresh(1)
    await settle()
    readings[2]?.('c')
    expect(await third).toBe('c')
    expect(copies.known(1)).toBe('c')
  })

  it('fresh reads again after a failed read', async () => {
    let readings = 0
    const read = async () => {
      readings += 1
      if (readings === 1) throw new Error('no database')
      return 'a'
    }
    const copies = new TenantCopies<string>({ shared: false, read, report: () => {} })
    const first = copies.fresh(1).catch(String)
    await Promise.resolve()
    const second = copies.fresh(1)
    expect(await first).toBe('Error: no database')
    expect(await second).toBe('a')
    // Without other processes the value cannot have changed.
    expect(await copies.fresh(1)).toBe('a')
    expect(readings).toBe(2)
  })

  it('a shared value is refreshed every two seconds, with one read at a time', async () => {
    const { copies, readings, replaced } = slowSource()
    const loaded = copies.load(1)
    readings[0]?.('a')
    await loaded
    vi.advanceTimersByTime(6000)
    expect(readings).toHaveLength(2)
    readings[1]?.('b')
    await settle()
    expect(copies.known(1)).toBe('b')
    expect(replaced).toHaveBeenCalledExactlyOnceWith('b', 'a')
    vi.advanceTimersByTime(2000)
    expect(readings).toHaveLength(3)
  })

  it('a value that is not shared is never refreshed', async () => {
    const { copies, readings } = slowSource(false)
    const loaded = copies.load(1)
    readings[0]?.('a')
    await loaded
    vi.advanceTimersByTime(600_000)
    expect(readings).toHaveLength(1)
    expect(copies.known(1)).toBe('a')
  })

  it('a value that is no longer used is evicted, and its timer stops', async () => {
    const { copies, readings } = slowSource()
    const loaded = copies.load(1)
    readings[0]?.('a')
    await loaded
    for (let n = 0; n < 40; n++) {
      vi.advanceTimersByTime(2000)
      readings.at(-1)?.('a')
      await settle()
    }
    expect(copies.known(1)).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a failed refresh is reported and keeps the value', async () => {
    let isDown = false
    const report = vi.fn()
    const copies = new TenantCopies<string>({
      shared: true,
      read: async () => {
        if (isDown) throw new Error('down')
        return 'a'
      },
      report,
    })
    await copies.load(1)
    isDown = true
    vi.advanceTimersByTime(2000)
    await settle()
    expect(copies.known(1)).toBe('a')
    expect(report).toHaveBeenCalledTimes(1)
    await expect(copies.load(2)).rejects.toThrow('down')
    isDown = false
    expect(await copies.load(2)).toBe('a')
  })

  it('stop waits for the read in progress', async () => {
    const { copies, readings } = slowSource()
    const loaded = copies.load(1)
    const stopped = vi.fn()
    const stopping = copies.stop().then(stopped)
    await settle()
    expect(stopped).not.toHaveBeenCalled()
    readings[0]?.('a')
    await stopping
    expect(await loaded).toBe('a')
    expect(vi.getTimerCount()).toBe(0)
  })
})
