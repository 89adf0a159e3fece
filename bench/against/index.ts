import { UsageError } from '../arguments.ts'
import { Databases, type StoreName } from '../engine/databases.ts'
import { processorSeconds } from '../processor.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { type Arm, type StartArm, WORKLOADS } from './arms.ts'
import { buildVersion, HERE } from './version.ts'

const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const ROUNDS = 15
const SECONDS = 2

/**
 * Compares this version with another one. Both run at the same time and are loaded in turns of a few seconds, because
 * the speed of a shared machine changes more from minute to minute than most versions differ.
 */
export async function against(report: Report, ref: string, suite: string | undefined): Promise<void> {
  const workloads = WORKLOADS.filter((workload) => suite === undefined || workload.suite === suite)
  if (workloads.length === 0) {
    const suites = new Set(WORKLOADS.map((workload) => workload.suite))
    throw new UsageError(`There is no suite "${suite}" to compare. Suites: ${[...suites].join(', ')}`)
  }
  const version = buildVersion(ref)
  const databases = await Databases.start()
  try {
    for (const store of STORES)
      for (const { name, start } of workloads)
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
