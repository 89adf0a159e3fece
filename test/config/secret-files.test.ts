import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig, reportConfig } from '../../src/config/index.ts'
import { SECRETS } from '../../src/config/table.ts'

const KEY = 'a-good-key-of-some-length'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-secrets-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function secretFile(content: string, mode = 0o600): string {
  const path = join(folder, `secret-${Math.random()}`)
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

const config = (env: Record<string, string>) => loadConfig({ env, file: '/dev/null' })
const problems = (env: Record<string, string>) => reportConfig({ env, file: '/dev/null' }).problems

describe('secrets in files', () => {
  it.each([`${KEY}`, `${KEY}\n`, `${KEY}\r\n`])('one newline at the end is removed: %j', (content) => {
    expect(config({ ASYNCGATE_API_KEY_FILE: secretFile(content) }).server.api_key).toBe(KEY)
  })

  it('a config file can name them too, and the environment wins', () => {
    const other = secretFile('another-good-key-0001')
    const file = join(folder, 'settings.yaml')
    writeFileSync(file, `api_key_file: ${secretFile(KEY)}\n`)
    expect(loadConfig({ env: {}, file }).server.api_key).toBe(KEY)
    expect(loadConfig({ env: { ASYNCGATE_API_KEY_FILE: other }, file }).server.api_key).toBe(
      'another-good-key-0001',
    )
  })

  it('the URL of the database can be in a file, because it holds a password', () => {
    const url = 'postgres://gate:secret-word@db.internal/gate'
    const report = reportConfig({
      env: { ASYNCGATE_DATABASE_URL_FILE: secretFile(`${url}\n`) },
      file: '/dev/null',
    })
    expect(report.config?.database).toEqual({ kind: 'postgres', url })
    const line = report.lines.find(({ name }) => name === 'database_url')
    expect(line).toMatchObject({
      value: 'postgres://gate:***@db.internal/gate',
      origin: 'ASYNCGATE_DATABASE_URL_FILE',
    })
  })

  it('every secret setting can be given as a file', () => {
    for (const name of SECRETS) {
      const variable = `ASYNCGATE_${name.toUpperCase()}_FILE`
      const report = reportConfig({ env: { [variable]: secretFile('x') }, file: '/dev/null' })
      const line = report.lines.find((candidate) => candidate.name === name)
      expect(line?.origin, name).toBe(variable)
    }
    expect(SECRETS).toEqual(
      expect.arrayContaining(['api_key', 'admin_keys', 'smtp_password', 'database_url']),
    )
  })

  it('a secret and its file are not accepted together', () => {
    const both = { ASYNCGATE_API_KEY: KEY, ASYNCGATE_API_KEY_FILE: secretFile(KEY) }
    expect(problems(both)).toEqual([
      'ASYNCGATE_API_KEY and ASYNCGATE_API_KEY_FILE are both set. Remove one of them.',
    ])
  })

  it('a file that cannot be used is a problem, and no message shows its content', () => {
    const missing = join(folder, 'missing')
    expect(problems({ ASYNCGATE_API_KEY_FILE: missing })).toEqual([
      `ASYNCGATE_API_KEY_FILE names a file that cannot be read (ENOENT): "${missing}".`,
    ])
    expect(problems({ ASYNCGATE_API_KEY_FILE: secretFile('\n') })).toEqual([
      expect.stringContaining('is empty'),
    ])
    expect(problems({ ASYNCGATE_API_KEY_FILE: secretFile('x'.repeat(70_000)) })).toEqual([
      expect.stringContaining('has more than 64 KiB'),
    ])
    const wrong = problems({ ASYNCGATE_ADMIN_KEYS_FILE: secretFile('not-a-list-of-keys') })
    expect(wrong).toEqual([expect.stringMatching(/^ASYNCGATE_ADMIN_KEYS_FILE is not NAME=KEY/)])
    expect(wrong[0]).not.toContain('not-a-list-of-keys')
  })

  it('settings without a secret have no file', () => {
    expect(problems({ ASYNCGATE_PORT_FILE: secretFile('8080') })).toEqual([
      expect.stringContaining('ASYNCGATE_PORT_FILE is not a known setting.'),
    ])
  })

  it('a warning is given if other accounts may read the file', () => {
    for (const mode of [0o644, 0o604, 0o620]) {
      const path = secretFile(KEY, mode)
      expect(config({ ASYNCGATE_API_KEY_FILE: path }).warnings).toEqual([
        expect.stringContaining(`chmod 600 ${path}`),
      ])
    }
    for (const mode of [0o600, 0o400, 0o440]) {
      expect(config({ ASYNCGATE_API_KEY_FILE: secretFile(KEY, mode) }).warnings).toEqual([])
    }
  })
})

it('the password of a database URL that is not a URL is not shown', () => {
  const [problem] = problems({ ASYNCGATE_DATABASE_URL: 'postgres://gate:secret-word@db:port/x' })
  expect(problem).toContain('postgres://***@db:port/x')
  expect(problem).not.toContain('secret-word')
})
