import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { databaseOf } from '../../src/config/database.ts'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { findIsolationProblems } from '../../src/server/database-isolation.ts'
import { openServer } from '../../src/server/open-server.ts'
import { openStore } from '../../src/server/open-store.ts'
import { cli, startCli, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { CERTIFICATE, KEY } from '../egress/certificate.ts'
import { admin } from '../support/gates.ts'
import { postgresUrl } from '../support/postgres.ts'
import { blocksOf, proseOf } from './markdown.ts'

const page = repositoryText('docs/security.md')
const blocks = (language: string) =>
  blocksOf(page)
    .filter((block) => block.language === language)
    .map(({ text }) => text)

/** The commands in the text of the page, each once. */
const COMMANDS = [
  ...new Set([...proseOf(page).matchAll(/`asyncgate ([^`]*)`/g)].map(([, command = '']) => command)),
]

/** Commands that the page names without the arguments that they need. */
const NAMED_ONLY = ['limits set', 'policies test']

/** Commands that are run before a server starts. */
const BEFORE_START = ['migrate', 'doctor']

/** Files of the page, in the folder of a test. */
function tlsFiles(folder: string): (text: string) => string {
  writeFileSync(join(folder, 'cert.pem'), CERTIFICATE)
  writeFileSync(join(folder, 'ca.pem'), CERTIFICATE)
  writeFileSync(join(folder, 'key.pem'), KEY, { mode: 0o600 })
  return (text) => text.replaceAll('/etc/asyncgate/', `${folder}/`)
}

describe('docs/security.md', () => {
  it('every test that it names exists', () => {
    const paths = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(15)
    expect(paths.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([])
  })

  it('every command works, with the issued key of an admin', async () => {
    const folder = testFolder()
    const database = { ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}` }
    const json = async (...args: string[]) => JSON.parse((await cli([...args, '--json'], database)).stdout)
    const { key } = await json('init', '--principal', 'human:ann')
    const { key_id } = await json('keys', 'create', '--principal', 'agent:planner', '--role', 'agent')
    const check = async (args: readonly string[], env: Readonly<Record<string, string>>) => {
      const { code, stdout, stderr } = await cli(args, { ...database, ...env })
      expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0)
    }
    for (const command of BEFORE_START) {
      expect(COMMANDS).toContain(command)
      await check([command], { ASYNCGATE_PORT: '0' })
    }

    const config = loadConfig({ env: { ...database, ASYNCGATE_PORT: '0' }, file: '/dev/null' })
    const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
    onTestFinished(() => server.close())
    const transport = { type: 'http', url: 'https://wiki.example/mcp' }
    await server.gate.addUpstream(admin(), { name: 'wiki', transport, enabled: false })
    const later = COMMANDS.filter((command) => !BEFORE_START.includes(command))
    expect(later.length).toBeGreaterThan(10)
    for (const command of later) {
      const args = command.replace('KEY_ID', key_id).replace('NAME', 'wiki').split(' ')
      const whole = NAMED_ONLY.includes(command) ? [...args, '--help'] : args
      await check(whole, { ASYNCGATE_URL: server.url, ASYNCGATE_API_KEY: key })
    }
  })

  it('its settings for TLS serve https, which its command for a private authority uses', async () => {
    const folder = testFolder()
    const inFolder = tlsFiles(folder)
    const [settings = '', command = ''] = blocks('sh').map(inFolder)
    const env = Object.fromEntries(
      [...settings.matchAll(/^(ASYNCGATE_\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    expect(Object.keys(env)).toHaveLength(4)
    const own = {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_PORT: '0',
      ASYNCGATE_API_KEY: 'a-shared-key-for-tests',
    }
    const config = loadConfig({ env: { ...env, ...own }, file: '/dev/null' })
    const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
    onTestFinished(() => server.close())
    const port = new URL(server.url).port

    const [, authority = '', args = ''] = /^NODE_EXTRA_CA_CERTS=(\S+) asyncgate (.*)$/.exec(command) ?? []
    const reached = args.replace('https://gate.example.com', `https://127.0.0.1:${port}`)
    const { ended } = startCli(reached.split(' '), folder, {
      NODE_EXTRA_CA_CERTS: authority,
      ASYNCGATE_API_KEY: own.ASYNCGATE_API_KEY,
    })
    expect(await ended).toMatchObject({ code: 0 })
  })

  it.skipIf(!postgresUrl())('its SQL statements create roles that a server can use', async () => {
    const superuser = postgresUrl() ?? ''
    const as = (role: string) => {
      const url = new URL(superuser)
      return Object.assign(url, { username: role, password: '...', pathname: '/asyncgate' }).href
    }
    const drop = [
      'DATABASE IF EXISTS asyncgate WITH (FORCE)',
      'ROLE IF EXISTS asyncgate',
      'ROLE IF EXISTS asyncgate_server',
    ]
    const reset = () =>
      execute(
        superuser,
        drop.map((what) => `DROP ${what}`),
      )
    await reset()
    onTestFinished(reset)

    const [owning = '', owningNothing = ''] = blocks('sql')
    await execute(superuser, statementsOf(owning))
    expect(await cli(['migrate'], { ASYNCGATE_DATABASE_URL: as('asyncgate') })).toMatchObject({ code: 0 })
    const [role = '', ...grants] = statementsOf(owningNothing)
    await execute(superuser, [role])
    await execute(as('asyncgate'), grants)
    for (const name of ['asyncgate', 'asyncgate_server']) {
      const database = databaseOf(as(name))
      expect(await findIsolationProblems(database)).toEqual([])
      const store = await openStore(database)
      const { tenant } = await store.tenant(name)
      await store.entries.put({ tenant, kind: 'x', name: 'x', value: '{}', due_at: null })
      await store.close()
    }
  })
})

const statementsOf = (block: string) =>
  block
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '')

/** One statement at a time, since a database is not created in a transaction. */
async function execute(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
