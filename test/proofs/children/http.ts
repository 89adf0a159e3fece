import { Authenticator } from '../../../src/auth/credential.ts'
import { openGate } from '../../../src/gate/gate.ts'
import { createMcpEndpoint } from '../../../src/mcp/endpoint.ts'
import { startServer } from '../../../src/server.ts'
import { whenToldToFinish } from '../../support/processes.ts'
import { openStore, type Place } from '../place.ts'

/** A server in a process of its own. It says at which port it listens. */
const { place }: { place: Place } = JSON.parse(process.argv[2] ?? '')

const gate = openGate({ store: await openStore(place), sweeping: false })
const shared = {
  gate,
  authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
  guard: { allowed_hosts: [], allowed_origins: [] },
  maxBodyBytes: 8 * 1024 * 1024,
}
const mcp = createMcpEndpoint(shared)
const server = await startServer({ ...shared, drainMs: 0, mcp: mcp.handle.bind(mcp) })
whenToldToFinish(async () => {
  await mcp.close()
  await server.close()
  await gate.close()
})
process.send?.(server.port)
