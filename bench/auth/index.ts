import { type Database, Databases, type StoreName } from '../engine/databases.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { mcp, type Protocol, rest } from '../http/protocols.ts'
import { type ServerProcess, startGate } from '../http/servers.ts'
import { processorSeconds } from '../processor.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { floodedLatency } from './flood.ts'
import { createKey } from './key.ts'

const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const CONNECTIONS = 64
const ROUNDS = 5
const SECONDS = 4
const BATCH = 100
const REQUESTS_PER_LIFECYCLE = 3

interface Variant {
  readonly name: string
  readonly protocol: Protocol
  readonly perRequest: number
}

const VARIANTS: readonly Variant[] = [
  { name: 'REST, one task per request', protocol: rest, perRequest: 1 },
  { name: `REST, ${BATCH} tasks per request`, protocol: rest, perRequest: BATCH },
  { name: 'MCP 2026-07-28, one task per request', protocol: mcp, perRequest: 1 },
]

/** Rate limits as in production. */
const LIMITED = { ASYNCGATE_RATE_LIMIT_ENABLED: 'true', ASYNCGATE_RATE_LIMIT_DEFAULT_CALLS: '100000000' }

/** What authentication by an issued key, and rate limits, cost a busy server. Every round measures all variants in turn. */
export async function auth(report: Report): Promise<void> {
  const databases = await Databases.start()
  try {
    for (const store of STORES) {
      for (const variant of VARIANTS) await compare(report, databases, store, variant)
    }
    await flood(report, databases)
  } finally {
    await databases.remove()
  }
}

interface Measured {
  readonly rate: number
  /** Milliseconds of processor time of the server per request. */
  readonly cpuMs: number
}

async function compare(report: Report, databases: Databases, store: StoreName, variant: Variant) {
  const open: Measured[] = []
  const bound: Measured[] = []
  for (let round = 0; round < ROUNDS; round++) {
    open.push(await measure(databases, store, variant, false))
    bound.push(await measure(databases, store, variant, true))
  }
  const name = `${store}: ${variant.name}`
  const ratios = bound.map(({ rate }, i) => rate / (open[i]?.rate ?? Number.NaN))
  report.add({
    name: `${name}, with a key and limits against without`,
    value: median(ratios),
    unit: 'x',
    note: spread(ratios),
    target: { atLeast: 0.95 },
  })
  const more = bound.map(({ cpuMs }, i) => cpuMs - (open[i]?.cpuMs ?? Number.NaN))
  report.add({
    name: `${name}, processor time of both per request`,
    value: median(more),
    unit: 'ms',
    note: spread(more),
    target: { atMost: 0.1 },
  })
}

async function measure(
  databases: Databases,
  store: StoreName,
  { protocol, perRequest }: Variant,
  isBound: boolean,
): Promise<Measured> {
  const database = await databases.create(store)
  const key = isBound ? createKey(urlOf(database)) : undefined
  const server = await startGate(urlOf(database), isBound ? LIMITED : {})
  const run = (seconds: number) =>
    lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, seconds, key)
  await run(1)
  const before = processorSeconds(server.pid)
  const rate = await run(SECONDS)
  const cpuMs = (processorSeconds(server.pid) - before) * 1000
  await server.stop()
  await database.drop()
  return { rate, cpuMs: cpuMs / ((rate * SECONDS * REQUESTS_PER_LIFECYCLE) / perRequest) }
}

/** The latency of a client with a valid key while another one tries 500 wrong keys a second. */
async function flood(report: Report, databases: Databases): Promise<void> {
  const database = await databases.create('sqlite')
  const key = createKey(urlOf(database))
  const server: ServerProcess = await startGate(urlOf(database), LIMITED)
  try {
    const { p99, ratio, note } = await floodedLatency(server.port, key)
    report.add({ name: 'p99 of a good client, alone', value: p99, unit: 'ms' })
    report.add({
      name: 'p99 during 500 wrong keys a second against alone',
      value: ratio,
      unit: 'x',
      note,
      target: { atMost: 1.2 },
    })
  } finally {
    await server.stop()
    await database.drop()
  }
}

function urlOf({ name, address }: Database): string {
  return name === 'sqlite' ? `sqlite:${address}` : address
}
