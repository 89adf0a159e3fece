import { describe, expect, it } from 'vitest'
import { Semaphore } from '../../src/util/semaphore.ts'

describe('semaphore', () => {
  it('a released permit goes to the first waiter, before any later caller', async () => {
    const semaphore = new Semaphore(1)
    const order: string[] = []
    const release = await semaphore.acquire()
    const acquire = async (name: string) => {
      const done = await semaphore.acquire()
      order.push(name)
      done()
    }
    const waiting = acquire('waiter')
    release()
    await Promise.all([waiting, acquire('later')])
    expect(order).toEqual(['waiter', 'later'])
    expect([semaphore.held, semaphore.waiting]).toEqual([0, 0])
  })

  it('a second release of the same permit is ignored', async () => {
    const semaphore = new Semaphore(2)
    const [first] = await Promise.all([semaphore.acquire(), semaphore.acquire()])
    first?.()
    first?.()
    expect(semaphore.held).toBe(1)
  })

  it('an aborted waiter rejects with the reason of its signal and leaves the queue', async () => {
    const semaphore = new Semaphore(1)
    const release = await semaphore.acquire()
    const stop = new AbortController()
    const waiting = semaphore.acquire(stop.signal)
    const next = semaphore.acquire()
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(semaphore.acquire(stop.signal)).rejects.toThrow('enough')
    release()
    ;(await next)()
    expect([semaphore.held, semaphore.waiting]).toEqual([0, 0])
  })
})
