import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Database, Databases, type StoreName } from '../engine/databases.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { mcp, type Protocol, rest } from '../http/protocols.ts'
import { startGate } from '../http/servers.ts'
import { processorSeconds } from '../processor.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { buildVersion, HERE } from './version.ts'

const CHILD = fileURLToPath(new URL('./engine-child.ts', import.meta.url))
const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const ROUNDS = 15
const SECONDS = 2
const ENGINE_CALLERS = 256
const CONNECTIONS = 64
const BATCH = 100

/** One version under load: the process to measure, and a function that loads it for some seconds. */
interface Arm {
  readonly pid: number
  /** Returns lifecycles per second. */
  measure(seconds: number): Promise<number>
  stop(): Promise<void>
}

type StartArm = (folder: string, database: Database) => Promise<Arm>

const WORKLOADS: Record<'engine' | 'http', readonly (readonly [name: string, start: StartArm])[]> = {
  engine: [[`engine, ${ENGINE_CALLERS} callers`, startEngine]],
  http: [
    ['REST, one task per request', overHttp(rest, 1)],
    ['MCP, one task per request', overHttp(mcp, 1)],
    [`REST, ${BATCH} tasks per request`, overHttp(rest, BATCH)],
  ],
}

/**
 * Compares this version with another one. Both run at the same time and are loaded in turns of a few seconds, because
 * the speed of a shared machine changes more from minute to minute than most versions differ.
 */
export async function against(report: Report, ref: string, suite: string | undefined): Promise<void> {
  const workloads =
    suite === undefined
      ? [...WORKLOADS.engine, ...WORKLOADS.http]
      : suite === 'engine' || suite === 'http'
        ? WORKLOADS[suite]
        : undefined
  if (workloads === undefined)
    throw new Error(`There is no suite "${suite}" to compare. Suites: engine, http`)
  const version = buildVersion(ref)
  const databases = await Databases.start()
  try {
    for (const store of STORES)
      for (const [name, start] of workloads)
        await compare(report, `${store}: ${name}`, start, version.folder, databases, store)
  } finally {
    await databases.remove()
    version.remove()
  }
}

interface Sample {
  readonly rate: number
  /** Processor seconds of the measured process for each lifecycle. */
  readonly cost: number
}

async function compare(
  report: Report,
  name: string,
  start: StartArm,
  otherFolder: string,
  databases: Databases,
  store: StoreName,
): Promise<void> {
  const [thisDatabase, otherDatabase] = [
    await databases.createEmpty(store),
    await databases.createEmpty(store),
  ]
  const mine = await start(HERE, thisDatabase)
  const other = await start(otherFolder, otherDatabase)
  const rates: number[] = []
  const costs: number[] = []
  try {
    for (const arm of [mine, other]) await arm.measure(SECONDS)
    for (let round = 0; round < ROUNDS; round++) {
      // The order changes every round, so that neither version always runs on the slower half of a drift.
      const [first, second] = round % 2 === 0 ? [mine, other] : [other, mine]
      const [a, b] = [await sample(first), await sample(second)]
      const [now, before] = first === mine ? [a, b] : [b, a]
      rates.push(now.rate / before.rate)
      costs.push(now.cost / before.cost)
    }
  } finally {
    for (const arm of [mine, other]) await arm.stop()
    for (const database of [thisDatabase, otherDatabase]) await database.drop()
  }
  report.add({ name: `${name}: rate`, value: median(rates), unit: 'x', note: spread(rates) })
  report.add({ name: `${name}: CPU per lifecycle`, value: median(costs), unit: 'x', note: spread(costs) })
}

async function sample(arm: Arm): Promise<Sample> {
  const [before, startedAt] = [processorSeconds(arm.pid), performance.now()]
  const rate = await arm.measure(SECONDS)
  const lifecycles = (rate * (performance.now() - startedAt)) / 1000
  return { rate, cost: (processorSeconds(arm.pid) - before) / lifecycles }
}

async function startEngine(folder: string, { name, address }: Database): Promise<Arm> {
  const child = fork(CHILD, [folder, name, address], { cwd: folder, execArgv: ['--import', 'tsx'] })
  const exited = once(child, 'exit')
  await once(child, 'message')
  return {
    pid: child.pid ?? Number.NaN,
    async measure(seconds) {
      child.send({ callers: ENGINE_CALLERS, seconds })
      const [rate] = await once(child, 'message')
      return rate
    },
    async stop() {
      child.disconnect()
      await exited
    },
  }
}

function overHttp(protocol: Protocol, perRequest: number): StartArm {
  return async (folder, { name, address }) => {
    const url = name === 'sqlite' ? `sqlite:${address}` : address
    const server = await startGate(url, {}, folder)
    return {
      pid: server.pid,
      measure: (seconds) => lifecyclesOverHttp(protocol, server.port, CONNECTIONS, perRequest, seconds),
      stop: server.stop,
    }
  }
}
