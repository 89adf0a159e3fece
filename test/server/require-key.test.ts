import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { keyProblem } from '../../src/server/require-key.ts'

const KEY = 'a-good-key-of-some-length'

const problem = (env: Record<string, string>, isIssued = false) => {
  const prefixed = Object.entries(env).map(([name, value]) => [`ASYNCGATE_${name}`, value])
  return keyProblem(loadConfig({ env: Object.fromEntries(prefixed), file: '/dev/null' }).server, isIssued)
}

describe('keys that a server needs', () => {
  it.each([
    [{ ENV: 'production' }],
    [{ ENV: 'staging' }],
    [{ HOST: '0.0.0.0' }],
    [{ HOST: 'gate.internal' }],
  ])('a server with %j and without any key does not start', (env) => {
    expect(problem(env)).toMatchObject({ isFatal: true, fix: expect.stringContaining('asyncgate init') })
    expect(problem(env, true)).toBeUndefined()
  })

  it('a local server without any key starts with a warning', () => {
    expect(problem({})).toMatchObject({ isFatal: false, message: expect.stringContaining('every request') })
    expect(problem({ ALLOW_INSECURE_DEV: 'true' })).toBeUndefined()
  })

  it('a warning is given outside of development if no person has a key', () => {
    const message = expect.stringContaining('No one can approve tasks')
    expect(problem({ ENV: 'production', API_KEY: KEY })).toMatchObject({ isFatal: false, message })
    expect(problem({ API_KEY: KEY })).toBeUndefined()
    expect(problem({ ENV: 'production', API_KEY: KEY }, true)).toBeUndefined()
    expect(
      problem({ ENV: 'production', API_KEY: KEY, ADMIN_KEYS: 'anna=another-good-key-1' }),
    ).toBeUndefined()
  })
})
