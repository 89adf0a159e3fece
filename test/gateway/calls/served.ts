import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { loadConfig } from '../../../src/config/index.ts'
import type { UpstreamRecord } from '../../../src/features/upstreams/shape.ts'
import { createLogger } from '../../../src/http/log.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { type OpenServer, openServer } from '../../../src/server/open-server.ts'
import { asCaller, authEnvironment, suiteAuthMode } from '../../support/auth-modes.ts'
import { PROGRAM, PROGRAM_LISTING } from '../../support/program.ts'
import { upstreamsOf } from '../../support/tenants.ts'

export interface Served extends OpenServer {
  /** A real client of either era. */
  connect(era?: 'modern' | 'legacy', name?: string): Promise<Client>
  /** The same client over the stdio transport. */
  connectStdio(era?: 'modern' | 'legacy', name?: string): Promise<Client>
}

/** A complete server with these upstreams, on a separate database. */
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
  const clientOf = (era: 'modern' | 'legacy', name: string) => {
    const client = new Client(
      { name, version: '1' },
      era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
    )
    clients.push(client)
    return client
  }
  onTestFinished(async () => {
    for (const client of clients) await client.close().catch(() => {})
    await open.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await upstreamsOf(open).settled()
  return {
    ...open,
    async connect(era = 'legacy', name = 'test') {
      const client = clientOf(era, name)
      const { headers } = asCaller(suiteAuthMode(), {})
      const requestInit = { headers: { ...headers } }
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${open.url}/mcp${PROGRAM}`), { requestInit }),
      )
      return client
    },
    async connectStdio(era = 'legacy', name = 'stdio') {
      const [near, far] = InMemoryTransport.createLinkedPair()
      const handle = serveStdioMcp(open.gate, {
        listing: PROGRAM_LISTING,
        sources: open.sources,
        transport: far,
      })
      onTestFinished(() => handle.close())
      const client = clientOf(era, name)
      await client.connect(near)
      return client
    },
  }
}
