import { Authenticator } from '../../../src/auth/credential.ts'
import { openChannels, resultStore } from '../../../src/channels/registry.ts'
import { openGate } from '../../../src/features/gate.ts'
import { startServer } from '../../../src/server/http-server.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { onFinishRequest } from '../../support/processes.ts'
import { residentBytes } from '../streaming.ts'

// A server that stores results in a folder. It prints its address, and finally its peak memory.

const { folder }: { folder: string } = JSON.parse(process.argv[2] ?? '')

const gate = openGate({
  store: await openSqliteStore({ path: ':memory:' }),
  results: resultStore(openChannels({ blob: { folder } }), 'blob'),
})
const server = await startServer({
  gate,
  authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
  guard: { allowed_hosts: [], allowed_origins: [] },
  maxBodyBytes: 1024 * 1024,
  drainMs: 0,
})
const before = residentBytes()
onFinishRequest(async () => {
  await server.close()
  await gate.close()
  console.log(JSON.stringify({ before, peak: residentBytes() }))
})
console.log(server.url)
