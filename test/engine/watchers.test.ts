import { describe, expect, it, vi } from 'vitest'
import { Watchers } from '../../src/engine/watchers.ts'

describe('watchers of a task', () => {
  it('watchers are called when the task comes to rest, and not after they unsubscribed', () => {
    const watchers = new Watchers()
    const stays = vi.fn()
    const leaves = vi.fn()
    watchers.add(1, 'a', stays)
    watchers.add(1, 'a', leaves)()
    watchers.rests(1, 'a')
    expect([stays.mock.calls.length, leaves.mock.calls.length]).toEqual([1, 0])
  })

  it('a repeated unsubscribe does not remove later watchers', () => {
    const watchers = new Watchers()
    const unsubscribe = watchers.add(1, 'a', () => {})
    unsubscribe()
    const sameTask = vi.fn()
    const otherTask = vi.fn()
    watchers.add(1, 'a', sameTask)
    watchers.add(1, 'b', otherTask)
    unsubscribe()
    watchers.rests(1, 'a')
    watchers.rests(1, 'b')
    expect([sameTask.mock.calls.length, otherTask.mock.calls.length]).toEqual([1, 1])
    expect(watchers.watched()).toEqual([{ tenant: 1, taskIds: ['a', 'b'] }])
  })

  it('the same callback added twice counts as two subscriptions', () => {
    const watchers = new Watchers()
    const callback = vi.fn()
    const first = watchers.add(1, 'a', callback)
    watchers.add(1, 'a', callback)
    first()
    first()
    watchers.rests(1, 'a')
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('watchers leave nothing behind after they unsubscribe', () => {
    const watchers = new Watchers()
    const unsubscribes = ['a', 'a', 'b'].map((id) => watchers.add(1, id, () => {}))
    for (const unsubscribe of unsubscribes) unsubscribe()
    expect(watchers.isEmpty).toBe(true)
  })
})
