import { z } from 'zod'
import { MAX_CALLS, MAX_WINDOW_SECONDS, type RateLimit } from '../core/rate-limit.ts'
import { Networks } from '../util/networks.ts'
import { boolean, integer, Kind, list, oneOf } from './kinds.ts'
import type { ServerValues } from './server.ts'

const NONE: readonly string[] = []

const UNLIMITED = -1

const calls = new Kind<number>(`a whole number from 1 to ${MAX_CALLS}, or -1 for no limit`, (value) => {
  const count = integer(UNLIMITED, MAX_CALLS).read(value)
  return count === 0 ? undefined : count
})

const networks = list('addresses or networks like 10.1.0.0/16, separated by commas', (item) =>
  isNetwork(item) ? item : undefined,
)

const redisUrl = new Kind<string>('a URL like redis://127.0.0.1:6379', (value) =>
  typeof value === 'string' && /^rediss?:\/\/[^\s/]/i.test(value) && URL.canParse(value) ? value : undefined,
)

function isNetwork(text: string): boolean {
  try {
    return new Networks([text]) !== undefined
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Rate limits; see docs/limits.md. */
export const limitsTable = z.object({
  rate_limit_enabled: boolean.optional(
    'Limit the calls of principals and tenants; see docs/limits.md. Default: true, except in development without another RATE_LIMIT setting.',
  ),
  rate_limit_default_calls: calls.default(
    60_000,
    'Maximum calls of each principal in the window; -1 is no limit.',
  ),
  rate_limit_default_window_seconds: integer(1, MAX_WINDOW_SECONDS).default(
    60,
    'The window of the three RATE_LIMIT_*_CALLS.',
  ),
  rate_limit_tenant_calls: calls.default(
    600_000,
    'Maximum calls of each tenant without a tier in the window; -1 is no limit.',
  ),
  rate_limit_global_calls: calls.default(
    3_000_000,
    'Maximum calls of all tenants in the window; -1 is no limit.',
  ),
  rate_limit_backend: oneOf('memory', 'redis').default(
    'memory',
    'Where calls are counted: in each process, or in Redis for all servers together.',
  ),
  rate_limit_redis_url: redisUrl.secret(
    'The Redis of RATE_LIMIT_BACKEND=redis, such as redis://127.0.0.1:6379; rediss for TLS.',
  ),
  redis_url: redisUrl.secret('The legacy name of RATE_LIMIT_REDIS_URL.'),
  trusted_proxies: networks.default(
    NONE,
    'Proxies in front of this server. The address of a client is read from their X-Forwarded-For.',
  ),
})

export type LimitsValues = z.output<typeof limitsTable>

export interface RateLimitConfig {
  readonly isEnabled: boolean
  readonly global: RateLimit | null
  readonly tenant: RateLimit | null
  readonly principal: RateLimit | null
  /** The Redis in which calls are counted; null if they are counted in memory. */
  readonly redisUrl: string | null
}

/** The rate limits of the settings. Setting one of them enables all of them, unless they are disabled. */
export function rateLimitsOf(
  values: LimitsValues,
  { env }: Pick<ServerValues, 'env'>,
  isGiven: (name: string) => boolean,
): RateLimitConfig {
  const isAnyGiven = Object.keys(values).some((name) => name.startsWith('rate_limit_') && isGiven(name))
  const window_seconds = values.rate_limit_default_window_seconds
  const limit = (count: number) => (count === UNLIMITED ? null : { calls: count, window_seconds })
  return {
    isEnabled: values.rate_limit_enabled ?? (env !== 'development' || isAnyGiven),
    global: limit(values.rate_limit_global_calls),
    tenant: limit(values.rate_limit_tenant_calls),
    principal: limit(values.rate_limit_default_calls),
    redisUrl:
      values.rate_limit_backend === 'redis' ? (values.rate_limit_redis_url ?? values.redis_url) : null,
  }
}

/** Settings that need another one. */
export function limitsProblems(values: LimitsValues): string[] {
  const { rate_limit_backend: backend, rate_limit_redis_url, redis_url } = values
  const url = rate_limit_redis_url ?? redis_url
  if (backend === 'redis' && url === null) return ['RATE_LIMIT_BACKEND=redis needs RATE_LIMIT_REDIS_URL.']
  if (backend === 'redis' || url === null) return []
  const name = rate_limit_redis_url === null ? 'REDIS_URL' : 'RATE_LIMIT_REDIS_URL'
  return [`${name} needs RATE_LIMIT_BACKEND=redis.`]
}
