import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config/index.ts'
import { fileUpstream } from '../../src/features/upstreams/shape.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { type DemoClock, seed } from './seed.ts'

/** A server on a free port, with a day of work in a database in memory. */
export async function openDemo(settings: Readonly<Record<string, unknown>> = {}): Promise<OpenServer> {
  const clock: DemoClock = { now: Date.now() }
  const config = loadConfig({
    env: { ASYNCGATE_INSTANCE_ID: 'demo' },
    flags: { port: 0, host: '127.0.0.1', database_url: 'sqlite::memory:', log_level: 'error', ...settings },
    preset: () => ({ allow_insecure_dev: true }),
  })
  const store = await openSqliteStore({ path: ':memory:', now: () => clock.now })
  const program = fileURLToPath(new URL('upstream.js', import.meta.url))
  const tracker = fileUpstream.parse({
    name: 'tracker',
    transport: { type: 'stdio', command: process.execPath, args: [program] },
  })
  const server = await openServer(config, createLogger('error'), { store, upstreams: [tracker] })
  const start = Date.now()
  await seed(server.gate, clock, start)
  // From here on the clock of the store runs with that of the machine.
  Object.defineProperty(clock, 'now', { get: () => Date.now() })
  return server
}
