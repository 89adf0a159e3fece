import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'

const KEY = 'a-good-key-of-some-length'

const of = (env: Record<string, string>) => {
  const prefixed = Object.entries(env).map(([name, value]) => [`ASYNCGATE_${name}`, value])
  return loadConfig({ env: Object.fromEntries(prefixed), file: '/dev/null' })
}

describe('unsafe settings', () => {
  it.each([
    [{ ALLOW_INSECURE_DEV: 'true', ENV: 'staging', API_KEY: KEY }, 'only for development'],
    [{ ALLOW_INSECURE_DEV: 'true', HOST: '0.0.0.0' }, 'could use this server'],
    [{ ALLOW_INSECURE_DEV: 'true', HOST: '192.168.0.7', API_KEY: KEY }, 'could use this server'],
    [{ API_KEY: KEY, ADMIN_KEYS: `anna=${KEY}` }, 'every agent could act as that person'],
    [{ ENV: 'production', API_KEY: KEY, INSTANCE_ID: 'asyncgate-1' }, 'Give each instance its own name'],
    [{ ENV: 'production', API_KEY: KEY, INSTANCE_ID: 'localhost:8080' }, 'Give each instance its own name'],
    [
      { ENV: 'production', API_KEY: 'short' },
      'fewer than 16 characters and could be guessed. Make one with: openssl',
    ],
    [{ ENV: 'staging', API_KEY: '...' }, 'ASYNCGATE_API_KEY has fewer than 16 characters'],
    [{ ENV: 'production', API_KEY: 'x'.repeat(32) }, 'is a placeholder and could be guessed'],
    [{ ENV: 'production', API_KEY: 'change-me-in-production' }, 'is a placeholder and could be guessed'],
    [
      { ENV: 'production', API_KEY: KEY, ADMIN_KEYS: `anna=${'.'.repeat(20)}` },
      'ASYNCGATE_ADMIN_KEYS: the key of anna is a placeholder',
    ],
  ])('unsafe settings are refused: %j', (env, problem) => {
    const { refusals } = of(env)
    expect(refusals).toHaveLength(1)
    expect(refusals[0]).toContain(problem)
    expect(refusals[0]).not.toContain('\n')
  })

  it.each([
    [{}],
    // Whether the database has keys is known later.
    [{ ENV: 'production' }],
    [{ ALLOW_INSECURE_DEV: 'true' }],
    [{ ALLOW_INSECURE_DEV: 'true', HOST: 'localhost' }],
    [{ ALLOW_INSECURE_DEV: 'true', HOST: '::1' }],
    [{ HOST: '0.0.0.0', API_KEY: KEY }],
    [{ ENV: 'production', API_KEY: KEY, HOST: '0.0.0.0' }],
    [{ ENV: 'production', API_KEY: KEY, INSTANCE_ID: 'asyncgate-10' }],
  ])('safe settings are accepted: %j', (env) => {
    expect(of(env).refusals).toEqual([])
  })
})

describe('warnings', () => {
  it('a warning is given in development if the key can be guessed', () => {
    const warning = expect.stringContaining('ASYNCGATE_API_KEY has fewer than 16 characters')
    expect(of({ API_KEY: 'short' })).toMatchObject({ refusals: [], warnings: [warning] })
  })

  it('a warning is given if no allowed host name can reach the server', () => {
    const warning = expect.stringContaining('ASYNCGATE_ALLOWED_HOSTS')
    const listening = { HOST: '0.0.0.0', API_KEY: KEY, TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem' }
    expect(of(listening).warnings).toEqual([warning])
    expect(of({ ...listening, ALLOWED_HOSTS: 'gate.example' }).warnings).toEqual([])
  })

  it('a warning is given if other machines reach the server without TLS', () => {
    const warning = expect.stringContaining('in plain text')
    const listening = { HOST: '10.0.0.7', API_KEY: KEY }
    expect(of(listening).warnings).toEqual([warning])
    expect(of({ ...listening, PUBLIC_URL: 'http://gate.example' }).warnings).toEqual([warning])
    expect(of({ ...listening, PUBLIC_URL: 'https://gate.example' }).warnings).toEqual([])
    expect(of({ ...listening, TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem' }).warnings).toEqual([])
    expect(of({ API_KEY: KEY }).warnings).toEqual([])
  })
})
