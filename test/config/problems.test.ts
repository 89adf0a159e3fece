import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, loadConfig, reportConfig } from '../../src/config/index.ts'

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-config-'))
  file = join(folder, 'settings.yaml')
})
afterAll(() => rmSync(folder, { recursive: true }))

const inEnvironment = (env: Record<string, string>) => {
  const prefixed = Object.entries(env).map(([name, value]) => [`ASYNCGATE_${name}`, value])
  return reportConfig({ env: Object.fromEntries(prefixed), file: '/dev/null' })
}
const inFile = (yaml: string) => {
  writeFileSync(file, yaml)
  return reportConfig({ env: {}, file })
}

describe('invalid settings', () => {
  it.each([
    ['PORT', '99999', 'a whole number from 0 to 65535'],
    ['PORT', '80.5', 'a whole number from 0 to 65535'],
    ['ENV', 'prod', 'development, staging or production'],
    ['DEBUG', 'maybe', 'true or false'],
    ['DATABASE_URL', 'mysql://h/d', 'sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME'],
    ['DATABASE_URL', 'sqlite:', 'sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME'],
    ['LOG_LEVEL', 'loud', 'trace, debug, info, warn, error, fatal or silent'],
    ['ALLOWED_HOSTS', 'https://gate.example', 'host names, separated by commas'],
    ['ALLOWED_ORIGINS', 'gate.example', 'origins like https://app.example, separated by commas'],
    ['ESCALATION_TARGET', 'ops', 'kind:id, as in agent:ops'],
    ['MAX_LEASE_EXPIRIES', '0', 'a whole number from 1 to 1000'],
    ['DEFAULT_LEASE_TTL_SECONDS', '0', 'a whole number from 1 to 31536000'],
  ])('the message for %s=%s names the setting', (name, value, form) => {
    expect(inEnvironment({ [name]: value }).problems).toEqual([
      `ASYNCGATE_${name} is not ${form}: "${value}".`,
    ])
  })

  it('the message names the file', () => {
    expect(inFile('port: soon').problems).toEqual([
      `port in ${file} is not a whole number from 0 to 65535: "soon".`,
    ])
    expect(inFile('api_key: 12345').problems).toEqual([
      `api_key in ${file} is not text, in quotes if it looks like a number.`,
    ])
  })

  it('the message covers all invalid settings', () => {
    const { problems, config } = inEnvironment({ PORT: 'x', ENV: 'y', TYPO: 'z' })
    expect(problems).toHaveLength(3)
    expect(config).toBeUndefined()
    const env = { ASYNCGATE_PORT: 'x', ASYNCGATE_ENV: 'y' }
    expect(() => loadConfig({ env, file: '/dev/null' })).toThrow(ConfigError)
  })

  it('the message never contains a secret or a password', () => {
    const { problems, lines } = inEnvironment({
      API_KEY: 'hush',
      DATABASE_URL: 'mysql://user:hush@host/name',
    })
    expect(JSON.stringify([problems, lines])).not.toContain('hush')
    expect(problems[0]).toContain('mysql://user:***@host/name')
    const shown = inEnvironment({ DATABASE_URL: 'postgres://u:hush@h/d?password=hush' }).lines
    expect(JSON.stringify(shown)).not.toContain('hush')
  })

  it('an escalation target that names a tenant is refused', () => {
    const targets = '[{"class": 1, "to_kind": "agent", "to_id": "ops", "tenant_id": "other"}]'
    expect(inEnvironment({ ESCALATION_TARGETS: targets }).problems[0]).toContain('within their own tenant')
  })

  it('the message of a contradiction names both settings', () => {
    expect(inEnvironment({ DEFAULT_LEASE_TTL_SECONDS: '5000' }).problems).toEqual([
      'DEFAULT_LEASE_TTL_SECONDS (5000) is more than MAX_LEASE_TTL_SECONDS (1800).',
    ])
    // A default is reduced to its maximum without a message.
    expect(inEnvironment({ MAX_LEASE_TTL_SECONDS: '60' }).problems).toEqual([])
  })
})

describe('unknown settings', () => {
  it('an unknown name is refused with a suggestion of the closest name', () => {
    expect(inEnvironment({ PROT: '1' }).problems).toEqual([
      'ASYNCGATE_PROT is not a known setting. Did you mean ASYNCGATE_PORT? "asyncgate config" shows all settings.',
    ])
    expect(inFile('max_lease_renewal: 1').problems[0]).toContain(
      `Did you mean max_lease_renewals in ${file}?`,
    )
    expect(inFile('Port: 1').problems[0]).toContain('Port in')
    expect(inEnvironment({ XYZZY: '1' }).problems).toEqual([
      'ASYNCGATE_XYZZY is not a known setting. "asyncgate config" shows all settings.',
    ])
  })

  it('a name of an unsupported feature is refused with the feature', () => {
    const { problems, config } = inEnvironment({
      METAGATE_URL: 'http://x',
      DEFAULT_LIST_LIMIT: '7',
    })
    expect(problems).toEqual([
      'ASYNCGATE_METAGATE_URL is not supported yet (bootstrapping from MetaGate). Remove it.',
      'ASYNCGATE_DEFAULT_LIST_LIMIT is not supported yet (page sizes other than 50). Remove it.',
    ])
    expect(config).toBeUndefined()
    expect(inFile('JWT_ALGORITHM: RS256').problems).toEqual([
      `jwt_algorithm in ${file} is not supported yet (JWT settings other than OAUTH_*). Remove it.`,
    ])
  })

  it('a variable without the prefix is ignored', () => {
    const env = { PORT: 'x', ASYNC: 'y', ASYNCGATE_TEST_POSTGRES_URL: 'z' }
    expect(reportConfig({ env, file: '/dev/null' }).problems).toEqual([])
  })
})

describe('invalid configuration file', () => {
  it.each([
    ['port: [', 'is not YAML'],
    ['- port', 'is not a mapping of NAME: VALUE'],
    ['port: 1\nPORT: 2', 'is given twice'],
    ['port: 1\nport: 2', 'is not YAML'],
  ])('the file is refused: %j', (yaml, problem) => {
    expect(inFile(yaml).problems[0]).toContain(problem)
  })

  it('a named file that does not exist is refused', () => {
    const missing = join(folder, 'nowhere.yaml')
    expect(reportConfig({ env: {}, file: missing }).problems).toEqual([
      `The file ${missing} cannot be read (ENOENT).`,
    ])
  })
})
