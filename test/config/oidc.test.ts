import { describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/index.ts'

const CLIENT = {
  ASYNCGATE_OIDC_ISSUER: 'https://id.example/realms/work',
  ASYNCGATE_OIDC_CLIENT_ID: 'asyncgate',
  ASYNCGATE_OIDC_CLIENT_SECRET: 'a-secret-for-tests',
}

const load = (env: Readonly<Record<string, string>>) => loadConfig({ env, file: '/dev/null' })

describe('the settings of the identity provider', () => {
  it('without them people sign in with keys', () => {
    expect(load({}).oidc).toBeNull()
  })

  it('the name of the provider is its host, unless another is given', () => {
    expect(load(CLIENT).oidc).toEqual({
      issuer: 'https://id.example/realms/work',
      clientId: 'asyncgate',
      clientSecret: 'a-secret-for-tests',
      name: 'id.example',
    })
    expect(load({ ...CLIENT, ASYNCGATE_OIDC_NAME: 'Example' }).oidc?.name).toBe('Example')
  })

  it.each([
    [{ ASYNCGATE_OIDC_ISSUER: 'https://id.example' }, 'OIDC_ISSUER needs OIDC_CLIENT_ID.'],
    [{ ASYNCGATE_OIDC_ISSUER: 'https://id.example' }, 'OIDC_ISSUER needs OIDC_CLIENT_SECRET.'],
    [{ ASYNCGATE_OIDC_CLIENT_ID: 'x' }, 'OIDC_CLIENT_ID needs OIDC_ISSUER.'],
    [{ ASYNCGATE_OIDC_NAME: 'x' }, 'OIDC_NAME needs OIDC_ISSUER.'],
    [{ ...CLIENT, ASYNCGATE_OIDC_ISSUER: 'http://id.example' }, 'OIDC_ISSUER is not an https URL'],
    [{ ...CLIENT, ASYNCGATE_CONSOLE: 'false' }, 'OIDC_ISSUER needs CONSOLE=true'],
    [{ ...CLIENT, ASYNCGATE_PUBLIC_URL: 'http://gate.example' }, 'OIDC_ISSUER needs a PUBLIC_URL with https'],
    [
      { ...CLIENT, ASYNCGATE_PUBLIC_URL: 'https://gate.example/x' },
      'OIDC_ISSUER needs a PUBLIC_URL without a path',
    ],
  ])('%j is refused', (env, problem) => {
    expect(() => load(env)).toThrow(ConfigError)
    expect(() => load(env)).toThrow(problem)
  })
})
