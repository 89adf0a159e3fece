import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { checkClock } from '../../src/cli/commands/doctor/database.ts'
import { checkNode } from '../../src/cli/commands/doctor/machine.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { cli, startServer, testFolder } from './support.ts'

const json = async (...args: string[]) => {
  const { code, stdout } = await cli([...args, '--json'])
  return { code, ...JSON.parse(stdout) }
}

describe('asyncgate migrate', () => {
  it('migrate creates the database once, and lists pending migrations with --dry-run', async () => {
    const path = join(testFolder(), 'new', 'a.db')
    const url = ['--database-url', `sqlite:${path}`]
    const planned = await json('migrate', '--dry-run', ...url)
    expect(planned).toMatchObject({ code: 0, dry_run: true, schema: 0 })
    expect(planned.migrations).toContain('0100_tables.sql')
    expect(existsSync(path)).toBe(false)
    expect((await cli(['migrate', ...url])).stdout).toContain('applied: 0100_tables.sql')
    expect((await cli(['migrate', ...url])).stdout).toMatch(/^The database is up to date \(schema \d+\)\.$/m)
  })

  it('migrate prints why the database cannot be read', async () => {
    const path = join(testFolder(), 'no.db')
    writeFileSync(path, 'this is no database, however long it may be made to look like one'.repeat(20))
    const { code, stderr } = await cli(['migrate', '--database-url', `sqlite:${path}`])
    expect(code).toBe(1)
    expect(stderr).toContain('The database cannot be read')
  })

  it.skipIf(!postgresUrl())('migrate creates the schema on PostgreSQL, and doctor then passes', async () => {
    const database = await freshDatabase('cli')
    onTestFinished(() => database.drop())
    const options = ['--database-url', database.url, '--port', '0']
    const before = await json('doctor', ...options)
    expect(before).toMatchObject({ code: 1, ok: false })
    expect(before.checks).toContainEqual(
      expect.objectContaining({
        check: 'database',
        ok: false,
        fix: expect.stringContaining('asyncgate migrate'),
      }),
    )
    expect(await json('migrate', '--database-url', database.url)).toMatchObject({ code: 0 })
    expect(await json('doctor', ...options)).toMatchObject({ code: 0, ok: true })
  })
})

describe('asyncgate doctor', () => {
  const findings = async (...args: string[]) => {
    const { code, ok, checks } = await json('doctor', ...args)
    const wrong = checks.filter((check: { ok: boolean }) => !check.ok)
    return { code, ok, wrong }
  }

  it('doctor passes on a new machine without creating files', async () => {
    const path = join(testFolder(), 'a.db')
    const { code, stdout } = await cli(['doctor', '--port', '0', '--database-url', `sqlite:${path}`])
    expect(code).toBe(0)
    expect(stdout).toContain('will be created at the first start')
    expect(stdout).toContain('All checks passed.')
    expect(existsSync(path)).toBe(false)
  })

  it('doctor prints a fix for each failed check', async () => {
    const home = testFolder()
    const db = `sqlite:${join(home, 'a.db')}`
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    expect(await findings('--port', port, '--database-url', db)).toMatchObject({
      code: 1,
      ok: false,
      wrong: [{ check: 'port', fix: expect.stringContaining('ASYNCGATE_PORT') }],
    })
    expect(await findings('--port', 'x')).toMatchObject({
      code: 1,
      wrong: [{ check: 'settings', detail: expect.stringContaining('--port') }],
    })
    expect(await findings('--port', '0', '--host', '0.0.0.0', '--database-url', db)).toMatchObject({
      wrong: [{ check: 'keys', fix: expect.stringContaining('asyncgate init') }],
    })
    expect(await findings('--port', '0', '--database-url', 'postgres://127.0.0.1:9/none')).toMatchObject({
      wrong: [{ check: 'database', fix: expect.stringContaining('Check that PostgreSQL runs') }],
    })
  })

  it('doctor reports settings that are not supported yet', async () => {
    vi.stubEnv('ASYNCGATE_METAGATE_URL', 'http://x')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await findings('--port', '0')).toMatchObject({
      code: 1,
      wrong: [{ check: 'settings', detail: expect.stringContaining('METAGATE_URL is not supported yet') }],
    })
  })

  it('doctor reports the same file errors as serve', async () => {
    const home = testFolder()
    const file = join(home, 'broken.yaml')
    writeFileSync(file, '- name: files\n  transport: { type: studio }\n')
    const options = ['--port', '0', '--database-url', `sqlite:${join(home, 'a.db')}`]
    for (const [variable, check] of [
      ['ASYNCGATE_UPSTREAMS_FILE', 'upstreams'],
      ['ASYNCGATE_POLICIES_FILE', 'policies'],
      ['ASYNCGATE_TASK_TYPES_FILE', 'types'],
    ] as const) {
      const env = { [variable]: file }
      const { code, stdout } = await cli(['doctor', ...options, '--json'], env)
      const { checks } = JSON.parse(stdout)
      const [wrong, ...others] = checks.filter(({ ok }: { ok: boolean }) => !ok)
      expect({ code, others }).toEqual({ code: 1, others: [] })
      expect(wrong).toMatchObject({ check, detail: expect.stringContaining(file) })
      const served = await cli(['serve', ...options], { ...env, ASYNCGATE_API_KEY: 'a-key-of-the-tests' })
      expect(served.code).not.toBe(0)
      expect(served.stderr).toContain(wrong.detail)
    }
    const good = join(home, 'good.yaml')
    writeFileSync(good, '- name: files\n  transport: { type: stdio, command: cat }\n')
    const { code, stdout } = await cli(['doctor', ...options], { ASYNCGATE_UPSTREAMS_FILE: good })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`1 in ${good}`) })
  })

  it('doctor distinguishes its own server from another one on the port', async () => {
    const [home, elsewhere] = [testFolder(), testFolder()]
    const server = await startServer(['serve'], home, { ASYNCGATE_API_KEY: 'a-key-of-the-tests' })
    const { port } = new URL(server.url)
    const db = (folder: string) => ['--database-url', `sqlite:${join(folder, '.asyncgate', 'asyncgate.db')}`]
    expect(await findings('--port', port, ...db(home))).toMatchObject({ code: 0, wrong: [] })
    expect(await findings('--port', port, ...db(elsewhere))).toMatchObject({
      code: 1,
      wrong: [{ check: 'port', detail: expect.stringContaining('is in use by another AsyncGate') }],
    })
    await server.stop()
  })

  it('doctor prints the notices of the settings', async () => {
    const env = { ASYNCGATE_ENV: 'production', ASYNCGATE_API_KEY: 'a-key-of-the-tests' }
    const options = ['--port', '0', '--database-url', `sqlite:${join(testFolder(), 'a.db')}`]
    expect(await cli(['doctor', ...options], env)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No one can approve tasks'),
    })
    expect(await cli(['doctor', ...options], { ...env, ASYNCGATE_API_KEY: '...' })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('openssl rand -hex 32'),
    })
  })

  it('doctor reports a database of a newer version, and one in use by another process', async () => {
    const path = join(testFolder(), 'a.db')
    const options = ['--port', '0', '--database-url', `sqlite:${path}`]
    await cli(['migrate', '--database-url', `sqlite:${path}`])
    const lock = await openDatabase(`${path}-lock`)
    lock.exec('BEGIN EXCLUSIVE')
    expect((await findings(...options)).wrong).toMatchObject([{ detail: expect.stringContaining('in use') }])
    lock.close()
    const database = await openDatabase(path)
    database.exec(`INSERT INTO migrations VALUES (9999, 'later', 0)`)
    database.close()
    expect((await findings(...options)).wrong).toMatchObject([{ fix: expect.stringContaining('newer one') }])
  })

  it('doctor checks the version of Node and the clock', () => {
    expect(['18.20.0', '20.18.3', '20.19.0', '24.1.0'].map((version) => checkNode(version).ok)).toEqual([
      false,
      false,
      true,
      true,
    ])
    const now = Date.UTC(2026, 5)
    const postgres = { kind: 'postgres', url: '' } as const
    const sqlite = { kind: 'sqlite', path: '' } as const
    expect(checkClock(postgres, now + 60_000, now)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('60 s behind'),
    })
    expect(checkClock(postgres, now - 60_000, now)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('ahead of'),
    })
    expect(checkClock(sqlite, now - 60_000, now).ok).toBe(true)
    expect(checkClock(sqlite, now + 60_000, now).ok).toBe(false)
    expect(checkClock(sqlite, undefined, 0).ok).toBe(false)
  })
})

describe('asyncgate config', () => {
  it('config prints each setting and its origin, and no secret', async () => {
    const env = { ASYNCGATE_API_KEY: 'hush', ASYNCGATE_PORT: '9000' }
    const { code, stdout } = await cli(['config', '--log-level', 'warn'], env)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^PORT +9000 +ASYNCGATE_PORT$/m)
    expect(stdout).toMatch(/^LOG_LEVEL +warn +--log-level$/m)
    expect(stdout).toMatch(/^CLAIM_ORDER +fair +default$/m)
    expect(stdout).toMatch(/^API_KEY +\*\*\* +ASYNCGATE_API_KEY$/m)
    expect(stdout).not.toContain('hush')
  })

  it('config prints the settings and the problems if a setting is invalid', async () => {
    const { code, stdout } = await cli(['config', '--json'], { ASYNCGATE_PORT: 'x' })
    expect(code).toBe(1)
    const { settings, problems } = JSON.parse(stdout)
    expect(problems).toEqual(['ASYNCGATE_PORT is not a whole number from 0 to 65535: "x".'])
    expect(settings).toContainEqual({
      name: 'host',
      variable: 'ASYNCGATE_HOST',
      value: '127.0.0.1',
      origin: 'default',
    })
  })
})

describe('asyncgate demo', () => {
  it('demo runs all scenes', async () => {
    const { code, database, scenes } = await json('demo', '--db', join(testFolder(), 'demo.db'))
    expect(code).toBe(0)
    expect(database).toContain('demo.db')
    expect(scenes).toMatchObject([
      { scene: 'golden path', status: 'succeeded', owed: 0 },
      { scene: 'crash recovery', status: 'succeeded', owed: 0 },
      { scene: 'approval', status: 'succeeded', owed: 0 },
    ])
    expect(scenes[1].receipts).toContain('lease.expired')
    expect(scenes[2].receipts).toEqual(expect.arrayContaining(['question.asked', 'question.answered']))
  })
})
