import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { UsageError } from '../arguments.ts'
import { replaceSection } from '../document.ts'
import { Databases } from '../engine/databases.ts'
import { type Report, round } from '../report.ts'
import { type Resources, withResources } from '../resources.ts'
import { median } from '../stats.ts'
import { chart } from './chart.ts'
import { installPeers, VERSION_NOTE } from './install.ts'
import { type Amounts, type Environment, measure } from './measure.ts'
import { type Options, parseOptions } from './options.ts'
import { findRedis, redisVersion } from './redis.ts'
import { comparisons, type Measurement, perRound, summary } from './results.ts'
import { type Run, section } from './section.ts'
import type { System } from './systems.ts'

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url))
/** Idle pick-ups of a system, over all rounds. */
const SAMPLES = 50

/**
 * AsyncGate and other queues: the same no-op tasks, enqueued and run to completion. Every round measures all systems in turn,
 * each in a separate process on an empty database.
 */
export async function peers(report: Report, args: readonly string[]): Promise<void> {
  const options = parseOptions(args)
  await withResources((resources) => run(report, options, resources))
}

async function run(report: Report, options: Options, resources: Resources): Promise<void> {
  const redis = options.systems.some(({ database }) => 'redis' in database) ? findRedis() : undefined
  const systems = options.systems.filter(({ database }) => redis !== undefined || !('redis' in database))
  if (options.write && systems.length < options.systems.length) {
    throw new UsageError('--write needs all systems, so Redis must be installed')
  }
  if (systems.length === 0) throw new UsageError('there is no system left to measure')
  const peersFolder = await installPeers(resources.signal)
  const databases = await Databases.start()
  resources.defer(() => databases.remove())
  const environment: Environment = { databases, redis, peersFolder, signal: resources.signal }
  const described = await describe(options, environment)
  for (const line of described) console.log(line)
  for (const { label, durability, settings } of systems) console.log(`${label}: ${durability}; ${settings}`)
  const { results, failures } = await measureAll(systems, options, environment)
  console.log()
  for (const { id, label } of systems) {
    for (const row of summary(label, results.get(id) ?? [])) report.add(row)
  }
  const compared = comparisons(results)
  for (const row of compared) report.add(row)
  if (failures.length > 0) {
    console.error(`\n${failures.length} runs did not complete every task:\n${failures.join('\n')}`)
    process.exitCode = 1
  } else if (options.write) write({ systems, results, comparisons: compared, environment: described })
}

/** A run in which a task did not end as it should is reported and does not count. */
async function measureAll(systems: readonly System[], { rounds, tasks }: Options, environment: Environment) {
  const results = new Map<string, Measurement[]>()
  const failures: string[] = []
  for (let round = 0; round < rounds; round++) {
    // Each round starts with another system, so that none is always measured after the same one.
    const order = [...systems.slice(round % systems.length), ...systems.slice(0, round % systems.length)]
    for (const system of order) {
      const amounts = amountsOf(system, tasks, rounds)
      try {
        const measurement = await measure(system, amounts, environment)
        results.set(system.id, [...(results.get(system.id) ?? []), measurement])
        progress(round, system, measurement)
      } catch (error) {
        environment.signal.throwIfAborted()
        failures.push(`round ${round + 1}, ${String(error)}`)
        console.error(`round ${round + 1}: FAILED: ${String(error)}`)
      }
    }
  }
  return { results, failures }
}

function amountsOf({ share }: System, tasks: number, rounds: number): Amounts {
  const bulk = Math.ceil(tasks * share)
  return { bulk, live: Math.ceil(bulk / 4), samples: Math.ceil(SAMPLES / rounds) }
}

function progress(round: number, { label }: System, { live, bulk, pickUps, memory }: Measurement): void {
  const bulkText = bulk === undefined ? '' : `, bulk ${integer(bulk)}`
  console.log(
    `round ${round + 1}: ${label}: live ${integer(live)}${bulkText} tasks/s, pick-up ${median(pickUps).toFixed(1)} ms, ${integer(memory)} MB`,
  )
}

function integer(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** What the numbers depend on besides the systems. */
async function describe({ rounds, tasks }: Options, { databases, redis }: Environment): Promise<string[]> {
  const installed = createRequire(import.meta.url)
  const sqlite: { version: string } = installed('better-sqlite3/package.json')
  const database = await databases.createEmpty('postgres')
  const client = new pg.Client({ connectionString: database.address })
  await client.connect()
  const setting = async (name: string) =>
    String(Object.values((await client.query(`SHOW ${name}`)).rows[0])[0])
  const postgres = `PostgreSQL ${await setting('server_version')} (shared_buffers ${await setting('shared_buffers')}, max_wal_size ${await setting('max_wal_size')})`
  await client.end()
  await database.drop()
  const redisText = redis === undefined ? 'no Redis' : `Redis ${redisVersion(redis)}`
  return [
    `Node ${process.version}, ${cpus().length} cores shared by load, system and database; ${postgres}, ${redisText}, better-sqlite3 ${sqlite.version}. ${VERSION_NOTE}`,
    `${rounds} interleaved ${rounds === 1 ? 'round' : 'rounds'}; medians, with the range of the rounds. Live: ${round(tasks / 4)} tasks from 64 callers that await each call, with workers running. Bulk: ${round(tasks)} tasks, enqueued in batches and then processed. Both after a warm-up of a quarter. A slow system gets a part of them.`,
    'AsyncGate writes all receipts, and its server checks a key. One of its tasks counts when its completion is confirmed; that of a peer when its handler has run.',
    'Memory is the peak RSS of the processes of the system, without database and bare load generator.',
  ]
}

function write(run: Run): void {
  const file = join(DOCS, 'performance.md')
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), 'peers', section(run)))
  const bars = run.systems.map(({ id, label, isOurs }) => {
    const measurements = run.results.get(id) ?? []
    const rate = (metric: 'live' | 'bulk') => {
      const values = perRound(measurements, metric)
      return values.length === 0 ? undefined : median(values)
    }
    return { label, isOurs, live: rate('live'), bulk: rate('bulk') }
  })
  mkdirSync(join(DOCS, 'images'), { recursive: true })
  writeFileSync(join(DOCS, 'images', 'peers.svg'), chart(bars))
  console.log(`\nWritten to ${file}`)
}
