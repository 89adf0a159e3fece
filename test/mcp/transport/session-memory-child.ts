import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Authenticator } from '../../../src/auth/credential.ts'
import { openGate } from '../../../src/features/gate.ts'
import { createMcpEndpoint } from '../../../src/mcp/transport/endpoint.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'

/** A server that reports its memory: it sends its port, and its resident and heap bytes whenever it gets a message. */
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-sessions-'))
const store = await openSqliteStore({ path: join(folder, 'gate.db') })
const endpoint = createMcpEndpoint({
  gate: openGate({ store, sweeping: false }),
  authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
  guard: { allowed_hosts: [], allowed_origins: [] },
  maxBodyBytes: 1024 * 1024,
})
const http = createServer((request, response) => void endpoint.handle(request, response))
http.listen(0, '127.0.0.1', () => process.send?.(http.address()))
process.on('message', () => {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  process.send?.({ rss, heapUsed })
})
process.once('disconnect', () => {
  rmSync(folder, { recursive: true, force: true })
  process.exit()
})
