import { PassThrough } from 'node:stream'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Liveness } from '../../../src/store/postgres/liveness.ts'

const LONG_MS = 60_000

describe('connections that may be dead', () => {
  let liveness: Liveness
  beforeEach(() => {
    vi.useFakeTimers()
    liveness = new Liveness()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** As much of a connection as is looked at. It was heard when it was made. */
  const connect = () => {
    const stream = new PassThrough()
    const client = new pg.Client({ stream: () => stream })
    liveness.heard(client)
    vi.advanceTimersByTime(1)
    return { client, stream }
  }

  it('one on which nothing is heard is given up', async () => {
    const { client, stream } = connect()
    liveness.watch(client)
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(true)
  })

  it('one that answers is kept, however long the rest takes', async () => {
    const { client, stream } = connect()
    liveness.watch(client)
    stream.write('a')
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(false)
    expect(liveness.isSuspect(client)).toBe(false)
  })

  it('one that nobody waits for any longer is kept', async () => {
    const { client, stream } = connect()
    liveness.watch(client)()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(false)
  })

  it('when one is silent, those that were not heard since are suspect', async () => {
    const [dead, idle, busy] = [connect(), connect(), connect()]
    const told = vi.fn()
    liveness.onSilence(told)
    liveness.watch(dead.client)
    vi.advanceTimersByTime(1)
    liveness.watch(busy.client)
    busy.stream.write('a')
    expect(liveness.isSuspect(idle.client)).toBe(false)
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(told).toHaveBeenCalledTimes(1)
    expect(liveness.isSuspect(idle.client)).toBe(true)
    expect(liveness.isSuspect(busy.client)).toBe(false)
    expect(liveness.isSuspect(connect().client)).toBe(false)
  })
})
