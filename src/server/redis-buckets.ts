import type { Redis } from 'ioredis'
import type { Standing } from '../core/rate-limit.ts'
import { MemoryBuckets } from '../features/limits/memory-buckets.ts'
import type { Bucket, Buckets } from '../features/limits/port.ts'
import { loadOptional } from '../util/load-optional.ts'

/** Slower responses count as an outage: requests must not wait for Redis. */
const COMMAND_TIMEOUT_MS = 1000
const CONNECT_TIMEOUT_MS = 1000
const MAX_RECONNECT_MS = 1000

/** All keys have the same hash tag, so that a cluster stores them together and one script can read them. */
const PREFIX = '{asyncgate}:limit:'

/**
 * The algorithm of core/rate-limit.ts with the clock of Redis. ARGV: the cost, then the calls and the window in
 * milliseconds of each key. Returns four numbers for each key: whether it allows the call, what remains, the time until
 * it is full, and the time until the call is possible.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cost = tonumber(ARGV[1])
local buckets = {}
local allAllowed = true
for i, key in ipairs(KEYS) do
  local calls, window = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local ms, part = now, 0
  local savedMs, savedPart = string.match(redis.call('GET', key) or '', '^(%d+) (%d+)$')
  if savedMs then
    savedMs, savedPart = tonumber(savedMs), tonumber(savedPart)
    if savedMs >= now + window then
      ms = now + window
    elseif savedMs >= now then
      ms, part = savedMs, math.min(savedPart, calls - 1)
    end
  end
  local amount = cost * window
  local total = part + amount % calls
  local carry = total >= calls and 1 or 0
  local nextMs, nextPart = ms + math.floor(amount / calls) + carry, total - carry * calls
  local allowed = nextMs - now < window or (nextMs - now == window and nextPart == 0)
  allAllowed = allAllowed and allowed
  buckets[i] = { calls, window, ms, part, nextMs, nextPart, allowed }
end
local result = {}
for i, key in ipairs(KEYS) do
  local calls, window, ms, part, nextMs, nextPart, allowed = unpack(buckets[i])
  local retry = allowed and 0 or nextMs - now - window + (nextPart > 0 and 1 or 0)
  if allAllowed then
    ms, part = nextMs, nextPart
    if cost > 0 then
      redis.call('SET', key, string.format('%.0f %.0f', ms, part), 'PX', ms - now + 1000)
    end
  end
  local remaining = math.max(0, math.floor(((now + window - ms) * calls - part) / window))
  result[#result + 1] = allowed and 1 or 0
  result[#result + 1] = remaining
  result[#result + 1] = ms - now + (part > 0 and 1 or 0)
  result[#result + 1] = retry
end
return result
`

export interface RedisLog {
  warn(message: string): void
  info(message: string): void
}

export interface RedisBucketsOptions {
  readonly url: string
  readonly log: RedisLog
  /** The clock of the memory that takes over during an outage. */
  readonly now?: () => number
}

/** Counts the calls of all servers in Redis. While Redis cannot be reached, each server counts its own calls. */
export class RedisBuckets implements Buckets {
  readonly #redis: Redis
  readonly #memory: MemoryBuckets
  readonly #log: RedisLog
  #isDown = false

  constructor(redis: Redis, { log, now }: Omit<RedisBucketsOptions, 'url'>) {
    this.#redis = redis
    this.#memory = new MemoryBuckets(now)
    this.#log = log
    redis.on('ready', () => this.#up())
    redis.on('close', () => this.#down())
    // Every failed attempt to connect is reported here, and then closes the connection.
    redis.on('error', () => this.#down())
  }

  /** Whether calls are counted in Redis at the moment. */
  get isConnected(): boolean {
    return this.#redis.status === 'ready'
  }

  take(buckets: readonly Bucket[], cost: number): readonly Standing[] | Promise<readonly Standing[]> {
    return this.isConnected ? this.#take(buckets, cost) : this.#memory.take(buckets, cost)
  }

  close(): void {
    this.#redis.removeAllListeners('close')
    this.#redis.disconnect()
  }

  async #take(buckets: readonly Bucket[], cost: number): Promise<readonly Standing[]> {
    const limits = buckets.flatMap(({ limit }) => [limit.calls, limit.window_seconds * 1000])
    const names = buckets.map(({ name }) => PREFIX + name)
    try {
      const numbers = await this.#redis.eval(SCRIPT, names.length, ...names, cost, ...limits)
      const standings = buckets.map((_, i) => standingOf(numbers, i * 4))
      // A command that timed out does not close the connection.
      this.#up()
      return standings
    } catch {
      this.#down()
      return this.#memory.take(buckets, cost)
    }
  }

  #down(): void {
    if (this.#isDown) return
    this.#isDown = true
    this.#log.warn('Redis cannot be reached: rate limits are counted in memory, separately on each server')
  }

  #up(): void {
    if (!this.#isDown) return
    this.#isDown = false
    this.#log.info('Redis can be reached again: rate limits are counted there')
  }
}

function standingOf(numbers: unknown, from: number): Standing {
  const at = (i: number): number => {
    const value: unknown = Array.isArray(numbers) ? numbers[from + i] : undefined
    if (typeof value !== 'number') throw new Error('Redis returned no number')
    return value
  }
  return { isAllowed: at(0) === 1, remaining: at(1), full_ms: at(2), retry_ms: at(3) }
}

/** Connects to Redis. An outage does not prevent the start of a server. */
export async function openRedisBuckets({ url, ...options }: RedisBucketsOptions): Promise<RedisBuckets> {
  const { Redis } = await loadOptional('ioredis', 'Counting rate limits in Redis', () => import('ioredis'))
  const redis = new Redis(url, {
    lazyConnect: true,
    // A command fails at once while there is no connection.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(100 * attempt, MAX_RECONNECT_MS),
  })
  const buckets = new RedisBuckets(redis, options)
  // A failure is logged by the listeners, and the client tries again.
  await redis.connect().catch(() => undefined)
  return buckets
}
