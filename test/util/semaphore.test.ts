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

  it('a waiter that needs many permits is not overtaken by those who need few', async () => {
    const semaphore = new Semaphore(4)
    const order: string[] = []
    const acquire = async (name: string, permits: number) => {
      const release = await semaphore.acquire(undefined, permits)
      order.push(name)
      return release
    }
    const first = await acquire('first', 2)
    const large = acquire('large', 3)
    const small = acquire('small', 1)
    await new Promise(setImmediate)
    expect(order).toEqual(['first'])
    first()
    await Promise.all([large, small])
    expect(order).toEqual(['first', 'large', 'small'])
    expect(semaphore.held).toBe(4)
  })

  it('a caller that asks for more permits than there are gets all of them', async () => {
    const semaphore = new Semaphore(4)
    const release = await semaphore.acquire(undefined, 100)
    expect(semaphore.held).toBe(4)
    release()
    expect(semaphore.held).toBe(0)
  })

  it('those behind a waiter that is aborted get the permits it was waiting for', async () => {
    const semaphore = new Semaphore(4)
    await semaphore.acquire(undefined, 2)
    const stop = new AbortController()
    const large = semaphore.acquire(stop.signal, 3)
    const small = semaphore.acquire(undefined, 2)
    stop.abort(new Error('enough'))
    await expect(large).rejects.toThrow('enough')
    await small
    expect([semaphore.held, semaphore.waiting]).toEqual([4, 0])
  })
})
