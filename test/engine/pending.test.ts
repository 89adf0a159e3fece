import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/core/command.ts'
import { canonical } from '../../src/core/json/json.ts'
import { Pending } from '../../src/engine/pending.ts'

const MB = 1024 * 1024

function progress(bytes: number): { command: Command } {
  const lease = { task_id: 't', lease_id: 'l', holder: 'worker:w', worker_id: 'w' } as const
  const text = canonical('x'.repeat(bytes - 2))
  return {
    command: { verb: 'progress', tenant: 1, extend_ms: null, milestone: false, progress: text, ...lease },
  }
}

describe('pending commands', () => {
  it('the queue is full at the maximum number of commands until some are taken', () => {
    const pending = new Pending({ commands: 2, bytes: MB })
    pending.add(progress(10))
    expect(pending.isFull).toBe(false)
    pending.add(progress(10))
    expect(pending.isFull).toBe(true)
    expect(pending.take(1)).toHaveLength(1)
    expect(pending.isFull).toBe(false)
  })

  it('the queue is full at the maximum size until some commands are taken', () => {
    const pending = new Pending({ commands: 100, bytes: 2 * MB })
    pending.add(progress(MB))
    expect(pending.isFull).toBe(false)
    pending.add(progress(MB))
    expect(pending.isFull).toBe(true)
    pending.take(1)
    expect(pending.isFull).toBe(false)
  })

  it('commands are taken in order, and those put back come first', () => {
    const pending = new Pending({ commands: 100, bytes: MB })
    const [first, second, third] = [progress(10), progress(11), progress(12)]
    for (const entry of [first, second, third]) pending.add(entry)
    expect(pending.take(2)).toEqual([first, second])
    pending.putBack([second])
    expect(pending.take(9)).toEqual([second, third])
    expect(pending.length).toBe(0)
  })

  it('commands are taken in batches of at most 16 MB with at least one command each', () => {
    const pending = new Pending({ commands: 100, bytes: 1024 * MB })
    for (const size of [10, 5, 2, 20, 1]) pending.add(progress(size * MB))
    expect([1, 2, 3, 4].map(() => pending.take(100).length)).toEqual([2, 1, 1, 1])
  })
})
