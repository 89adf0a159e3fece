import { describe, expect, it } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'
import { loadConfig } from '../../src/config/index.ts'
import { openGate } from '../../src/features/gate.ts'
import { openConsole } from '../../src/server/services.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

async function isServed(settings: Readonly<Record<string, string>>): Promise<boolean> {
  const { server } = loadConfig({ env: settings })
  const gate = openGate({ store: await openSqliteStore({ path: ':memory:' }), sweeping: false })
  const shared = {
    gate,
    authenticator: new Authenticator(server),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 1024,
  }
  const console = await openConsole(server, shared, () => {})
  console?.close()
  await gate.close()
  return console !== undefined
}

describe('the console setting', () => {
  it.each([
    [{ ASYNCGATE_API_KEY: 'a-shared-key-for-tests' }, true],
    [{ ASYNCGATE_ADMIN_KEYS: 'maria=the-key-of-maria-0001' }, true],
    [{ ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }, true],
    [{ ASYNCGATE_API_KEY: 'a-shared-key-for-tests', ASYNCGATE_CONSOLE: 'false' }, false],
    [{}, true],
  ])('with %j the console is served: %s', async (settings, served) => {
    expect(await isServed(settings)).toBe(served)
  })
})
