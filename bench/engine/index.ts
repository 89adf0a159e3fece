import { STORES } from '../arguments.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { claimScaling } from './claims.ts'
import { Databases, openGateOn, type StoreName } from './databases.ts'
import { floorPostgres } from './floor-postgres.ts'
import { floorSqlite } from './floor-sqlite.ts'
import { lifecyclesPerSecond } from './lifecycle.ts'
import { memory } from './memory.ts'
import { obligations, pickUp } from './reads.ts'
import { type Sample, takeSample } from './sample.ts'

const CALLERS = 256
const ROUNDS = 3
const SECONDS = 6

/** Commands of all three kinds in one batch when all callers are busy. */
const BATCH = { sqlite: 128, postgres: 256 }

export async function engine(report: Report): Promise<void> {
  const databases = await Databases.start()
  try {
    const sample = await takeSample()
    for (const store of STORES) await throughput(report, databases, store, sample)
    for (const store of STORES) await pickUp(report, databases, store)
    for (const store of STORES) await obligations(report, databases, store, sample)
    for (const store of STORES) await claimScaling(report, databases, store)
    for (const store of STORES) await memory(report, databases, store)
  } finally {
    await databases.remove()
  }
}

/** Engine and floor run in turn, each on an empty database; the ratio is that of the medians. */
async function throughput(
  report: Report,
  databases: Databases,
  store: StoreName,
  sample: Sample,
): Promise<void> {
  const engineRates: number[] = []
  const floorRates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    engineRates.push(await engineRate(databases, store))
    floorRates.push(await floorRate(databases, store, sample))
  }
  const rate = median(engineRates)
  const floor = median(floorRates)
  report.add({
    name: `${store}: floor, batched SQL without logic`,
    value: floor,
    unit: 'lifecycles/s',
    note: spread(floorRates),
  })
  report.add({
    name: `${store}: engine, ${CALLERS} callers`,
    value: rate,
    unit: 'lifecycles/s',
    note: spread(engineRates),
  })
  report.add({
    name: `${store}: engine against its floor`,
    value: rate / floor,
    unit: 'x',
    target: { atLeast: 0.5 },
  })
}

async function engineRate(databases: Databases, store: StoreName): Promise<number> {
  const database = await databases.create(store)
  const gate = await openGateOn(database)
  await lifecyclesPerSecond(gate, CALLERS, 1)
  const rate = await lifecyclesPerSecond(gate, CALLERS, SECONDS)
  await gate.close()
  await database.drop()
  return rate
}

async function floorRate(databases: Databases, store: StoreName, sample: Sample): Promise<number> {
  const database = await databases.create(store)
  const lifecycles = Math.round(BATCH[store] / 3)
  const run = store === 'sqlite' ? floorSqlite : floorPostgres
  const rate = await run(database.address, sample, lifecycles, SECONDS)
  await database.drop()
  return rate
}
