import { PassThrough } from 'node:stream'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Liveness } from '../../../src/store/postgres/liveness.ts'

const LONG_MS = 60_000

describe('liveness of connections', () => {
  let liveness: Liveness
  beforeEach(() => {
    vi.useFakeTimers()
    liveness = new Liveness()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A connection with the parts that Liveness uses. It counts as heard when it was created. */
  const connect = () => {
    const stream = new PassThrough()
    const client = new pg.Client({ stream: () => stream })
    liveness.heard(client)
    vi.advanceTimersByTime(1)
    return { client, stream }
  }

  it('a connection that stays silent is closed', async () => {
    const { client, stream } = connect()
    liveness.watch(client)
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(true)
  })

  it('a connection that responds stays open regardless of the duration', async () => {
    const { client, stream } = connect()
    liveness.watch(client)
    stream.write('a')
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(false)
    expect(liveness.isSuspect(client)).toBe(false)
  })

  it('a connection without a pending call stays open', async () => {
    const { client, stream } = connect()
    liveness.watch(client)()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(stream.destroyed).toBe(false)
  })

  it('after one connection was silent, others not heard since are suspect', async () => {
    const [dead, idle, busy] = [connect(), connect(), connect()]
    const onSilence = vi.fn()
    liveness.onSilence(onSilence)
    liveness.watch(dead.client)
    vi.advanceTimersByTime(1)
    liveness.watch(busy.client)
    busy.stream.write('a')
    expect(liveness.isSuspect(idle.client)).toBe(false)
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(onSilence).toHaveBeenCalledTimes(1)
    expect(liveness.isSuspect(idle.client)).toBe(true)
    expect(liveness.isSuspect(busy.client)).toBe(false)
    expect(liveness.isSuspect(connect().client)).toBe(false)
  })
})
