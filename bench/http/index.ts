import { STORES } from '../arguments.ts'
import { Databases, openGateOn, type StoreName, urlOf } from '../engine/databases.ts'
import { lifecyclesPerSecond } from '../engine/lifecycle.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { lifecyclesOverHttp, requestsPerSecond } from './load.ts'
import { mcp, type Protocol, rest } from './protocols.ts'
import { startBare, startGate } from './servers.ts'

const CONNECTIONS = 64
const ROUNDS = 3
const SECONDS = 5
const BATCH = 100

type Rates = Record<'engine' | 'bare' | 'rest' | 'mcp' | 'batch', number[]>

/**
 * The load comes from this process, the server runs in another, over loopback; every round measures all variants in
 * turn.
 */
export async function http(report: Report): Promise<void> {
  const databases = await Databases.start()
  try {
    for (const store of STORES) await compare(report, databases, store)
  } finally {
    await databases.remove()
  }
}

async function compare(report: Report, databases: Databases, store: StoreName): Promise<void> {
  const rates: Rates = { engine: [], bare: [], rest: [], mcp: [], batch: [] }
  for (let round = 0; round < ROUNDS; round++) {
    rates.engine.push(await engineRate(databases, store))
    rates.bare.push((await bareRate()) / 3)
    rates.rest.push(await serverRate(databases, store, rest, 1))
    rates.mcp.push(await serverRate(databases, store, mcp, 1))
    rates.batch.push(await serverRate(databases, store, rest, BATCH))
  }
  const [engine, bare] = [median(rates.engine), median(rates.bare)]
  const [single, overMcp, batched] = [median(rates.rest), median(rates.mcp), median(rates.batch)]
  const row = (name: string, values: number[]) =>
    report.add({
      name: `${store}: ${name}`,
      value: median(values),
      unit: 'lifecycles/s',
      note: spread(values),
    })
  row(`engine in process, ${CONNECTIONS} callers`, rates.engine)
  row('bare node:http, three requests', rates.bare)
  row('REST, one task per request', rates.rest)
  row('MCP 2026-07-28, one task per request', rates.mcp)
  row(`REST, ${BATCH} tasks per request`, rates.batch)
  const ratio = (name: string, value: number) => ({ name: `${store}: ${name}`, value, unit: 'x' })
  report.add(ratio('REST against the engine or HTTP, the lower', single / Math.min(engine, bare)))
  report.add({ ...ratio('MCP against REST', overMcp / single), target: { atLeast: 0.85 } })
  report.add(ratio('batches against single', batched / single))
}

async function engineRate(databases: Databases, store: StoreName): Promise<number> {
  const database = await databases.create(store)
  const gate = await openGateOn(database)
  await lifecyclesPerSecond(gate, CONNECTIONS, 1)
  const rate = await lifecyclesPerSecond(gate, CONNECTIONS, SECONDS)
  await gate.close()
  await database.drop()
  return rate
}

async function bareRate(): Promise<number> {
  const server = await startBare()
  const rate = await requestsPerSecond(server.port, CONNECTIONS, SECONDS)
  await server.stop()
  return rate
}

async function serverRate(
  databases: Databases,
  store: StoreName,
  protocol: Protocol,
  perRequest: number,
): Promise<number> {
  const database = await databases.create(store)
  const server = await startGate(urlOf(database))
  await lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, 1)
  const rate = await lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, SECONDS)
  await server.stop()
  await database.drop()
  return rate
}
