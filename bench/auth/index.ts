import { type Database, Databases, type StoreName, urlOf } from '../engine/databases.ts'
import { startGate } from '../http/servers.ts'
import { inTurns, type Turns } from '../paired.ts'
import { type Report, round, spread } from '../report.ts'
import { median } from '../stats.ts'
import { LIMITED, WORKLOADS, type Workload } from './arms.ts'
import { floodedLatency } from './flood.ts'
import { createKey, junkKeys, type MakeKey, wrongSecrets } from './key.ts'
import { parseOptions } from './options.ts'

/**
 * What authentication by an issued key, and rate limits, cost a busy server. A server with both and one with neither run
 * at the same time, each on its own database, and are loaded in turns.
 */
export async function auth(report: Report, args: readonly string[]): Promise<void> {
  const { stores, parts, turns } = parseOptions(args)
  const databases = await Databases.start()
  try {
    for (const part of parts) {
      if (part === 'flood') await floods(report, databases, turns)
      else for (const store of stores) await compare(report, databases, store, WORKLOADS[part], turns)
    }
  } finally {
    await databases.remove()
  }
}

async function compare(
  report: Report,
  databases: Databases,
  store: StoreName,
  { name, unit, start }: Workload,
  turns: Turns,
): Promise<void> {
  const [database, insecureDatabase] = [await databases.create(store), await databases.create(store)]
  const bound = await start(database, true)
  const insecure = await start(insecureDatabase, false)
  try {
    const { one, other, rates } = await inTurns(bound, insecure, turns)
    report.add({
      name: `${store}: ${name}, with a key and limits against without`,
      value: median(rates),
      unit: 'x',
      note: spread(rates),
      target: { atLeast: 0.95 },
    })
    const milliseconds = (samples: typeof one) => median(samples.map(({ cost }) => cost * 1000))
    const added = one.map(({ cost }, i) => 1000 * (cost - (other[i]?.cost ?? Number.NaN)))
    report.add({
      name: `${store}: ${name}, processor time of both per ${unit}`,
      value: median(added),
      unit: 'ms',
      note: `of ${milliseconds(one).toFixed(3)} against ${milliseconds(other).toFixed(3)} ${spread(added)}`,
      target: { atMost: 0.1 },
    })
  } finally {
    for (const arm of [bound, insecure]) await arm.stop()
    for (const each of [database, insecureDatabase]) await each.drop()
  }
}

/** The latency of a client with a valid key while others try 500 wrong keys a second. */
async function floods(report: Report, databases: Databases, { rounds }: Turns): Promise<void> {
  const flood = async (name: string, keys: (database: Database, key: string) => Promise<MakeKey>) => {
    const database = await databases.create('sqlite')
    const key = createKey(database)
    const makeKey = await keys(database, key)
    const server = await startGate(urlOf(database), LIMITED)
    try {
      const { alone, ratios, wrongPerSecond } = await floodedLatency(server.port, key, makeKey, rounds)
      report.add({
        name: `p99 of a good client during ${name} against alone`,
        value: median(ratios),
        unit: 'x',
        note: `of ${round(median(alone))} ms, ${Math.round(wrongPerSecond)} wrong keys/s ${spread(ratios)}`,
        target: { atMost: 1.2 },
      })
    } finally {
      await server.stop()
      await database.drop()
    }
  }
  await flood('junk keys', async (_, key) => junkKeys(key))
  await flood('wrong secrets', wrongSecrets)
}
