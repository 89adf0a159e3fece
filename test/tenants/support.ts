import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { folder } from '../gateway/upstreams/support.ts'
import { members } from '../http/support.ts'
import { admin } from '../support/gates.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'

type Env = Readonly<Record<string, string>>

/** The URL of an empty database. On PostgreSQL, row-level security applies to its role. */
type NewDatabase = () => Promise<string>

const DATABASES: Readonly<Record<string, NewDatabase>> = {
  sqlite: async () => `sqlite:${join(folder(), 'gate.db')}`,
  async postgres() {
    const database = await freshDatabase('tenants')
    onTestFinished(() => database.drop())
    return restrictedRole(database.url)
  },
}

export function describeStores(
  name: string,
  define: (database: NewDatabase) => void,
  stores = Object.keys(DATABASES),
): void {
  for (const store of stores) {
    const database = DATABASES[store]
    if (database === undefined) throw new Error(`there is no store ${store}`)
    describe.skipIf(store === 'postgres' && !postgresUrl())(`${name} on ${store}`, () => define(database))
  }
}

/** A complete server on this database, with these items in its TENANTS_FILE. */
export async function serve(
  database: string,
  tenants: readonly object[],
  env: Env = {},
): Promise<OpenServer> {
  const config = loadConfig({
    file: '/dev/null',
    env: {
      ASYNCGATE_DATABASE_URL: database,
      ASYNCGATE_PORT: '0',
      ASYNCGATE_API_KEY: 'a-key-of-the-default-tenant',
      ASYNCGATE_UPSTREAM_DEFAULT: 'ALLOW',
      ASYNCGATE_RESULTS_CHANNEL: 'database',
      ASYNCGATE_TENANTS_FILE: fileOf(tenants),
      ...env,
    },
  })
  const server = await openServer(config, createLogger('silent'), { drainMs: 0, graceMs: 0 })
  onTestFinished(() => server.close())
  return server
}

export function fileOf(content: unknown): string {
  const path = join(folder(), 'file.json')
  writeFileSync(path, JSON.stringify(content))
  return path
}

/** The admin of a tenant over REST and MCP. */
export async function adminOf({ gate, url }: OpenServer, tenant: string) {
  const principal = { kind: 'human', id: 'root' }
  const { key } = await gate.createKey(admin(tenant), { principal, role: 'admin' })
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
  }
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return members(await response.json())
  }
  return {
    get: (path: string) => send('GET', path),
    post: (path: string, body: object) => send('POST', path, body),
    key,
  }
}
