import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { RateLimit } from '../../src/core/rate-limit.ts'
import { MemoryBuckets } from '../../src/features/limits/memory-buckets.ts'
import type { Buckets } from '../../src/features/limits/port.ts'
import { openRedisBuckets, type RedisBuckets } from '../../src/server/redis-buckets.ts'
import { redisProgram, startRedis, type TestRedis } from '../support/redis.ts'

const HOUR: RateLimit = { calls: 5, window_seconds: 3600 }
let number = 0
/** A bucket that no other test uses. */
const bucket = (limit = HOUR) => ({ name: `tenant:t${++number}`, limit })

describe.skipIf(redisProgram === undefined)('buckets in Redis', () => {
  let redis: TestRedis
  const opened: RedisBuckets[] = []
  beforeAll(async () => {
    redis = await startRedis(redisProgram ?? '')
  })
  afterEach(() => {
    for (const buckets of opened.splice(0)) buckets.close()
  })
  afterAll(() => redis.close())

  async function open(now?: () => number) {
    const log = { warn: vi.fn<(message: string) => void>(), info: vi.fn<(message: string) => void>() }
    const buckets = await openRedisBuckets({ url: redis.url, log, ...(now && { now }) })
    opened.push(buckets)
    return { buckets, log }
  }

  async function drain(buckets: Buckets, limited: ReturnType<typeof bucket>): Promise<number> {
    for (let count = 0; ; count++) {
      const [standing] = await buckets.take([limited], 1)
      if (standing?.isAllowed !== true) return count
    }
  }

  it('allows the limit, counts down and reports the time of the next call, as in memory', async () => {
    const { buckets } = await open()
    const memory = new MemoryBuckets()
    const limited = bucket()
    for (let n = 0; n < 6; n++) {
      const [inRedis] = await buckets.take([limited], 1)
      const [inMemory] = memory.take([limited], 1)
      expect(inRedis?.isAllowed).toBe(inMemory?.isAllowed)
      expect(inRedis?.remaining).toBe(inMemory?.remaining)
      expect(Math.abs((inRedis?.full_ms ?? 0) - (inMemory?.full_ms ?? 0))).toBeLessThan(2000)
      expect(Math.abs((inRedis?.retry_ms ?? 0) - (inMemory?.retry_ms ?? 0))).toBeLessThan(2000)
    }
  })

  it('takes from all buckets or from none, and reading takes nothing', async () => {
    const { buckets } = await open()
    const [wide, narrow] = [bucket(), bucket({ calls: 1, window_seconds: 3600 })]
    const remaining = async (cost: number) =>
      (await buckets.take([wide, narrow], cost)).map((standing) => [standing.isAllowed, standing.remaining])
    expect(await remaining(0)).toEqual([
      [true, 5],
      [true, 1],
    ])
    expect(await remaining(1)).toEqual([
      [true, 4],
      [true, 0],
    ])
    expect(await remaining(1)).toEqual([
      [true, 4],
      [false, 0],
    ])
    expect(await remaining(0)).toEqual([
      [true, 4],
      [true, 0],
    ])
  })

  it('calls come back with time', async () => {
    const { buckets } = await open()
    const limited = bucket({ calls: 3, window_seconds: 1 })
    expect(await drain(buckets, limited)).toBe(3)
    await delay(1050)
    expect(await drain(buckets, limited)).toBe(3)
  })

  it('two servers together never exceed a limit by more than 5 %', async () => {
    const servers = [await open(), await open()]
    const limited = bucket({ calls: 1000, window_seconds: 3600 })
    const allowed: unknown[] = []
    for (let wave = 0; wave < 40; wave++) {
      const calls = Array.from({ length: 100 }, (_, i) => servers[i % 2]?.buckets.take([limited], 1))
      allowed.push(...(await Promise.all(calls)).filter((standings) => standings?.[0]?.isAllowed))
    }
    for (const { log } of servers) expect(log.warn).not.toHaveBeenCalled()
    expect(allowed.length).toBeGreaterThanOrEqual(1000)
    expect(allowed.length).toBeLessThanOrEqual(1050)
  })

  it('memory takes over while Redis is down, and Redis again when it is back', async () => {
    const { buckets, log } = await open()
    const limited = bucket({ calls: 10, window_seconds: 3600 })
    expect(await drain(buckets, limited)).toBe(10)
    await redis.kill()
    await vi.waitFor(() => expect(buckets.isConnected).toBe(false))
    expect(await drain(buckets, limited)).toBe(10)
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('Redis cannot be reached'))
    await redis.restart()
    await vi.waitFor(() => expect(buckets.isConnected).toBe(true), 5000)
    expect(await drain(buckets, limited)).toBe(10)
    expect(log.info).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('reached again'))
  }, 20_000)

  it('a server starts while Redis is down', async () => {
    await redis.kill()
    const { buckets, log } = await open()
    expect(await drain(buckets, bucket())).toBe(5)
    expect(log.warn).toHaveBeenCalledOnce()
    await redis.restart()
    await vi.waitFor(() => expect(buckets.isConnected).toBe(true), 5000)
  }, 20_000)
})
