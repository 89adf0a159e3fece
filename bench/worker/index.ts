import { task, worker } from '../../dist/worker/index.js'
import { type Database, Databases } from '../engine/databases.ts'
import { Connection } from '../http/connection.ts'
import { type ServerProcess, startGate } from '../http/servers.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { measureWorker } from './process.ts'
import { drainRaw, fill, pickUpRaw, settle } from './raw.ts'

const ROUNDS = 3
const AMOUNT = { count: 40_000, warmUp: 10_000 }
const BATCH = 100
/** Raw connections with one batch each, against a worker with the same number of concurrent tasks. */
const CONNECTIONS = [1, 4] as const

const PICK_UPS = 200
const LEASES = 1000
const LEASE_SECONDS = 30
const HOLD_SECONDS = 25

/**
 * The server runs in a separate process on SQLite, workers in another. Every round measures all variants in turn.
 */
export async function workers(report: Report): Promise<void> {
  const databases = await Databases.start()
  try {
    await compareRates(report, databases)
    await withServer(databases, (server) => comparePickUps(report, server))
    await withServer(databases, (server) => holdLeases(report, server))
  } finally {
    await databases.remove()
  }
}

/** The same tasks, all created in advance, executed by the SDK and by raw requests. */
async function compareRates(report: Report, databases: Databases): Promise<void> {
  const pairs = CONNECTIONS.map((connections) => ({ connections, raw: [] as number[], sdk: [] as number[] }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { connections, raw, sdk } of pairs) {
      raw.push(await filled(databases, (port) => drainRaw(port, AMOUNT, connections, BATCH)))
      sdk.push(await filled(databases, (port) => drainByWorker(port, connections * BATCH)))
    }
  }
  for (const { connections, raw, sdk } of pairs) {
    const tasks = connections * BATCH
    const row = (name: string, rates: number[]) =>
      report.add({ name, value: median(rates), unit: 'tasks/s', note: spread(rates) })
    row(`${tasks} in hand: REST, batches of ${BATCH}, ${connections} at once`, raw)
    row(`${tasks} in hand: one worker process`, sdk)
    report.add({
      name: `${tasks} in hand: worker against REST`,
      value: median(sdk) / median(raw),
      unit: 'x',
      target: { atLeast: 0.8 },
    })
  }
}

/** Measures a server with a full queue. */
function filled(databases: Databases, measure: (port: number) => Promise<number>): Promise<number> {
  return withServer(databases, async ({ port }) => {
    await fill(port, AMOUNT.count)
    return measure(port)
  })
}

async function drainByWorker(port: number, concurrency: number): Promise<number> {
  const { seconds, tasks } = await measureWorker({ kind: 'drain', port, concurrency, ...AMOUNT })
  return tasks / seconds
}

/** From create to the response of a raw claim, and to the handler of a worker; in turn, from this process. */
async function comparePickUps(report: Report, { port }: ServerProcess): Promise<void> {
  const [claimer, creator] = [await Connection.open(port), await Connection.open(port)]
  let begun = () => {}
  const noop = task('worked', { run: () => begun() })
  const idle = worker({ url: `http://127.0.0.1:${port}`, tasks: [noop], logger: false, signals: false })
  const running = idle.run()
  const create = JSON.stringify({ type: 'worked', principal_ai: 'alice' })
  const raw: number[] = []
  const sdk: number[] = []
  for (let n = 0; n < PICK_UPS; n++) {
    raw.push(await pickUpRaw(claimer, creator))
    await settle()
    const startedAt = performance.now()
    const handled = new Promise<number>((resolve) => {
      begun = () => resolve(performance.now() - startedAt)
    })
    await creator.post('/v1/tasks', create)
    sdk.push(await handled)
  }
  await idle.kill()
  await running
  for (const connection of [claimer, creator]) connection.close()
  report.add({ name: 'idle pick-up by hand, p50', value: median(raw), unit: 'ms' })
  report.add({ name: 'idle pick-up by a worker, p50', value: median(sdk), unit: 'ms' })
  report.add({
    name: 'idle pick-up, worker above by hand',
    value: median(sdk) - median(raw),
    unit: 'ms',
    target: { atMost: 5 },
  })
}

async function holdLeases(report: Report, { port }: ServerProcess): Promise<void> {
  await fill(port, LEASES)
  const job = {
    kind: 'hold',
    port,
    count: LEASES,
    leaseSeconds: LEASE_SECONDS,
    seconds: HOLD_SECONDS,
  } as const
  const { cores = Number.NaN, renewed = 0, seconds } = await measureWorker(job)
  report.add({
    name: `${LEASES} leases of ${LEASE_SECONDS} s held by one process`,
    value: cores * 100,
    unit: '% of a core',
    note: `(${renewed} renewals in ${seconds.toFixed(0)} s)`,
    target: { atMost: 10 },
  })
}

async function withServer<T>(databases: Databases, run: (server: ServerProcess) => Promise<T>): Promise<T> {
  const database = await databases.create('sqlite')
  const server = await startGate(urlOf(database))
  try {
    return await run(server)
  } finally {
    await server.stop()
    await database.drop()
  }
}

function urlOf({ address }: Database): string {
  return `sqlite:${address}`
}
