import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { type OpenServer, openServer } from '../../../src/cli/open-server.ts'
import { loadConfig } from '../../../src/config.ts'
import type { UpstreamRecord } from '../../../src/gate/upstreams-shape.ts'
import { createLogger } from '../../../src/http/log.ts'
import { asCaller, authEnvironment, suiteAuthMode } from '../../support/auth-modes.ts'

export interface Served extends OpenServer {
  /** A real client of either era. */
  connect(era?: 'modern' | 'legacy', name?: string): Promise<Client>
}

/** A whole server with these upstreams, over a database of its own. */
export async function serve(
  upstreams: readonly UpstreamRecord[],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-gateway-'))
  const config = loadConfig({
    env: {
      ...authEnvironment(suiteAuthMode()),
      ASYNCGATE_PORT: '0',
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_UPSTREAM_DEFAULT: 'ALLOW',
      ...env,
    },
  })
  const open = await openServer(config, createLogger('silent'), { upstreams, drainMs: 0 })
  const clients: Client[] = []
  onTestFinished(async () => {
    for (const client of clients) await client.close().catch(() => {})
    await open.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await open.upstreams.settled()
  return {
    ...open,
    async connect(era = 'legacy', name = 'test') {
      const client = new Client(
        { name, version: '1' },
        era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
      )
      clients.push(client)
      const { headers } = asCaller(suiteAuthMode(), {})
      const requestInit = { headers: { ...headers } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${open.url}/mcp`), { requestInit }))
      return client
    },
  }
}
