import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'

const load = (env: Readonly<Record<string, string>>) => loadConfig({ env, file: '/dev/null' }).rateLimits

describe('the settings of rate limits', () => {
  it('calls are counted in memory, per minute, and each wider limit is higher', () => {
    expect(load({})).toMatchObject({
      principal: { calls: 60_000, window_seconds: 60 },
      tenant: { calls: 600_000, window_seconds: 60 },
      global: { calls: 3_000_000, window_seconds: 60 },
      redisUrl: null,
    })
  })

  it.each([
    [{}, false],
    [{ ASYNCGATE_ENV: 'staging' }, true],
    [{ ASYNCGATE_RATE_LIMIT_DEFAULT_CALLS: '100' }, true],
    [{ ASYNCGATE_RATE_LIMIT_DEFAULT_CALLS: '100', ASYNCGATE_RATE_LIMIT_ENABLED: 'false' }, false],
  ])('with %j they are enabled: %s', (env, isEnabled) => {
    expect(load(env).isEnabled).toBe(isEnabled)
  })
})
