import { STORES, UsageError } from '../arguments.ts'
import { Databases, type StoreName } from '../engine/databases.ts'
import { inTurns } from '../paired.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'
import { type StartArm, WORKLOADS } from './arms.ts'
import { buildVersion, HERE } from './version.ts'

const TURNS = { rounds: 15, seconds: 2 }

/** Compares this version with another one. Both run at the same time and are loaded in turns. */
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
  try {
    const { rates, costs } = await inTurns(mine, other, TURNS)
    report.add({ name: `${name}: rate`, value: median(rates), unit: 'x', note: spread(rates) })
    report.add({ name: `${name}: CPU per lifecycle`, value: median(costs), unit: 'x', note: spread(costs) })
  } finally {
    for (const arm of [mine, other]) await arm.stop()
    for (const database of [thisDatabase, otherDatabase]) await database.drop()
  }
}
