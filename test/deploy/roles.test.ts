import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startCli, startServer, testFolder } from '../cli/support.ts'
import { postgresUrl } from '../support/postgres.ts'

const SQL = readFileSync(new URL('../../deploy/postgres/roles.sql', import.meta.url), 'utf8')

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // One statement at a time, since a database cannot be created in a transaction.
    for (const statement of sql.split(/;\n/)) if (statement.trim() !== '') await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Runs the file as psql would, with names that no other suite uses. */
async function createRoles(superuser: string) {
  const name = `deploy_${randomBytes(6).toString('hex')}`
  const passwords = { owner: 'owner-password', server: "server's password" }
  const sql = SQL.replaceAll('asyncgate', name)
    .replaceAll(":'owner_password'", pg.escapeLiteral(passwords.owner))
    .replaceAll(":'server_password'", pg.escapeLiteral(passwords.server))
    .replaceAll(/^--.*\n/gm, '')
  const [cluster = '', database = ''] = sql.split(`\\connect ${name}\n`)
  const at = (role?: keyof typeof passwords) => {
    const url = new URL(superuser)
    url.pathname = `/${name}`
    if (role !== undefined) {
      url.username = `${name}_${role}`
      url.password = encodeURIComponent(passwords[role])
    }
    return url.href
  }
  onTestFinished(async () => {
    await execute(superuser, `drop database if exists ${name} with (force)`)
    await execute(superuser, `drop role if exists ${name}_owner;\ndrop role if exists ${name}_server`)
  })
  await execute(superuser, cluster)
  await execute(at(), database)
  return { owner: at('owner'), server: at('server') }
}

describe.skipIf(postgresUrl() === undefined)('the roles of deploy/postgres', () => {
  it('run migrations as the owner and a production server that owns nothing', async () => {
    const urls = await createRoles(postgresUrl() ?? '')
    const folder = testFolder()
    const production = (url: string) => ({ ASYNCGATE_ENV: 'production', ASYNCGATE_DATABASE_URL: url })

    const refused = await startCli(['migrate'], folder, production(urls.server)).ended
    expect(refused.code).not.toBe(0)
    const migrated = await startCli(['migrate'], folder, production(urls.owner)).ended
    expect(migrated).toMatchObject({ code: 0 })

    const first = await startCli(['init', '--json'], folder, production(urls.server)).ended
    expect(first).toMatchObject({ code: 0 })
    const { key } = JSON.parse(first.stdout)

    const server = await startServer(['serve'], folder, production(urls.server))
    onTestFinished(async () => {
      await server.stop()
    })
    const created = await fetch(`${server.url}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ type: 'echo', payload: {} }),
    })
    expect(await created.json()).toMatchObject({ status: 'queued' })
  })
})
