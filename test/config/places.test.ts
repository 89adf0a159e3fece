import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ConfigOptions, loadConfig, reportConfig } from '../../src/config/index.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-config-'))
  file = join(folder, 'settings.yaml')
  writeFileSync(file, '')
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (yaml: string) => writeFileSync(file, yaml)
const load = (options: Partial<ConfigOptions> = {}) => loadConfig({ env: {}, file, ...options })
const line = (name: string, options: Partial<ConfigOptions> = {}) =>
  reportConfig({ env: {}, file, ...options }).lines.find((candidate) => candidate.name === name)

describe('sources of a setting', () => {
  it('flags override the environment, the file, the command and the default, in this order', () => {
    const preset = () => ({ port: 1 })
    expect(line('port')).toMatchObject({ value: '8080', origin: 'default' })
    expect(line('port', { preset })).toMatchObject({ value: '1', origin: 'this command' })
    write('port: 2')
    expect(line('port', { preset })).toMatchObject({ value: '2', origin: file })
    const env = { ASYNCGATE_PORT: '3' }
    expect(line('port', { preset, env })).toMatchObject({ value: '3', origin: 'ASYNCGATE_PORT' })
    const flags = { port: '4' }
    expect(line('port', { preset, env, flags })).toMatchObject({ value: '4', origin: '--port' })
    expect(load({ preset, env, flags }).server.port).toBe(4)
  })

  it('a command can see which settings are given', () => {
    const preset: ConfigOptions['preset'] = (isGiven) => ({ allow_insecure_dev: !isGiven('api_key') })
    expect(load({ preset }).server.allow_insecure_dev).toBe(true)
    expect(load({ preset, env: { ASYNCGATE_API_KEY: 'k' } }).server.allow_insecure_dev).toBe(false)
  })

  it('an empty variable and an empty key of the file count as unset', () => {
    write('port:\nhost: ~')
    expect(load({ env: { ASYNCGATE_API_KEY: '', ASYNCGATE_PORT: '' } }).server).toMatchObject({
      api_key: null,
      port: 8080,
      host: '127.0.0.1',
    })
  })

  it('the file accepts names in lower or upper case, and YAML lists and numbers', () => {
    write(`
PORT: 9000
ASYNCGATE_MAX_LEASE_RENEWALS: 3
claim_order: fifo
progress_receipts: no
allowed_hosts: [Gate.example.com, "10.0.0.5:8080"]
escalation_targets:
  - {class: 1, to_kind: human, to_id: ops}
`)
    const { server, settings } = load()
    expect(server).toMatchObject({ port: 9000, allowed_hosts: ['gate.example.com', '10.0.0.5'] })
    expect(settings).toMatchObject({
      max_lease_renewals: 3,
      claim_order: 'fifo',
      progress_receipts: false,
      escalation_target: 'human:ops',
    })
  })

  it('the file in the working directory is read if it exists', () => {
    const home = process.cwd()
    process.chdir(folder)
    try {
      expect(loadConfig({ env: {} }).server.port).toBe(8080)
      writeFileSync('asyncgate.config.yaml', 'port: 9001')
      expect(loadConfig({ env: {} }).server.port).toBe(9001)
    } finally {
      process.chdir(home)
    }
  })
})

describe('values of settings', () => {
  const value = (variable: string, text: string) => load({ env: { [`ASYNCGATE_${variable}`]: text } })

  it('database URLs name a file or a PostgreSQL server, also in the formats of other programs', () => {
    expect(value('DATABASE_URL', 'sqlite:data/a.db').database).toEqual({ kind: 'sqlite', path: 'data/a.db' })
    const url = 'postgres://u:p@h/d'
    for (const scheme of ['postgres', 'postgresql', 'postgresql+asyncpg']) {
      const { database } = value('DATABASE_URL', `${scheme}://u:p@h/d`)
      expect(database).toEqual({ kind: 'postgres', url })
    }
  })

  it('log levels accept the names of Python, and DEBUG overrides them', () => {
    expect(value('LOG_LEVEL', 'WARNING').logLevel).toBe('warn')
    const env = { ASYNCGATE_LOG_LEVEL: 'error', ASYNCGATE_DEBUG: 'true' }
    expect(load({ env }).logLevel).toBe('debug')
  })

  it('the escalation target is the configured one, or else that of the class', () => {
    const env = { ASYNCGATE_ESCALATION_TARGETS: '[{"class": 2, "to_kind": "agent", "to_id": "ops"}]' }
    expect(load({ env }).settings.escalation_target).toBe(null)
    expect(load({ env }).settings.escalation_retries_target).toBe('agent:ops')
    const classed = { ...env, ASYNCGATE_ESCALATION_LEASE_EXPIRY_CLASS: '2' }
    expect(load({ env: classed }).settings.escalation_target).toBe('agent:ops')
    const named = { ...classed, ASYNCGATE_ESCALATION_TARGET: 'human:boss' }
    expect(load({ env: named }).settings.escalation_target).toBe('human:boss')
  })
})
