import type { Databases } from '../engine/databases.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { rest } from '../http/protocols.ts'
import { type ServerProcess, startGate } from '../http/servers.ts'
import { type Report, spread } from '../report.ts'
import type { Resources } from '../resources.ts'
import { median } from '../stats.ts'

const ROUNDS = 6
const SECONDS = 2.5

const LOADS = [
  { name: 'single tasks, 64 connections', connections: 64, perRequest: 1 },
  { name: 'single tasks, 256 connections', connections: 256, perRequest: 1 },
  { name: 'batches of 100 tasks, 64 connections', connections: 64, perRequest: 100 },
]

/** Two servers on one database and tenant, against one server with all of the connections, over HTTP. */
export async function httpServers(report: Report, databases: Databases, resources: Resources): Promise<void> {
  const [one, two] = [await startServers(1), await startServers(2)]
  for (const { name, connections, perRequest } of LOADS) {
    const run = async (servers: readonly ServerProcess[]) => {
      const share = connections / servers.length
      const loads = servers.map(({ port }) => lifecyclesOverHttp(rest, port, share, perRequest, SECONDS))
      return (await Promise.all(loads)).reduce((sum, rate) => sum + rate, 0)
    }
    // The first round warms the processes.
    await run(one)
    await run(two)
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      resources.signal.throwIfAborted()
      // Both orders are used equally often.
      const isReversed = round % 2 === 1
      const first = await run(isReversed ? two : one)
      const second = await run(isReversed ? one : two)
      ratios.push(isReversed ? first / second : second / first)
    }
    report.add({
      name: `postgres: 2 servers over HTTP, ${name}`,
      value: median(ratios),
      unit: 'x of one',
      note: spread(ratios),
    })
  }

  async function startServers(count: number): Promise<readonly ServerProcess[]> {
    const database = await databases.create('postgres')
    resources.defer(() => database.drop())
    const servers: ServerProcess[] = []
    for (let i = 0; i < count; i++) {
      const server = await startGate(database.address)
      resources.defer(() => server.stop())
      servers.push(server)
    }
    return servers
  }
}
