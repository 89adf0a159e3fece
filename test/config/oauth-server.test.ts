import { describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/index.ts'

const load = (env: Readonly<Record<string, string>>) =>
  loadConfig({ env: { ASYNCGATE_OAUTH_SERVER: 'true', ...env }, file: '/dev/null' })

describe('the settings of the authorization server', () => {
  it('a public URL is optional', () => {
    expect(load({}).oauth).toMatchObject({
      oauth_server: true,
      oauth_access_token_seconds: 3600,
      oauth_refresh_token_days: 90,
    })
    expect(load({ ASYNCGATE_PUBLIC_URL: 'https://gate.example' }).oauth.oauth_server).toBe(true)
    expect(load({ ASYNCGATE_PUBLIC_URL: 'http://127.0.0.1:8080' }).oauth.oauth_server).toBe(true)
  })

  it.each([
    [{ ASYNCGATE_OAUTH_ISSUER: 'https://id.example' }, 'OAUTH_SERVER and OAUTH_ISSUER exclude each other'],
    [{ ASYNCGATE_OAUTH_TENANT: 'acme' }, 'OAUTH_TENANT needs OAUTH_ISSUER.'],
    [{ ASYNCGATE_CONSOLE: 'false' }, 'OAUTH_SERVER needs CONSOLE=true'],
    [{ ASYNCGATE_PUBLIC_URL: 'http://gate.example' }, 'OAUTH_SERVER needs a PUBLIC_URL with https'],
    [{ ASYNCGATE_PUBLIC_URL: 'https://gate.example/gate' }, 'OAUTH_SERVER needs a PUBLIC_URL without a path'],
    [{ ASYNCGATE_OAUTH_ACCESS_TOKEN_SECONDS: '59' }, 'OAUTH_ACCESS_TOKEN_SECONDS'],
    [{ ASYNCGATE_OAUTH_ACCESS_TOKEN_SECONDS: '7776001' }, 'OAUTH_ACCESS_TOKEN_SECONDS'],
    [
      { ASYNCGATE_OAUTH_SERVER: 'false', ASYNCGATE_OAUTH_REGISTRATION: 'true' },
      'OAUTH_REGISTRATION needs OAUTH_SERVER=true.',
    ],
  ])('%j is refused', (env, problem) => {
    expect(() => load(env)).toThrow(ConfigError)
    expect(() => load(env)).toThrow(problem)
  })
})
