import type { StoreName } from '../engine/databases.ts'
import { VERSIONS } from './install.ts'
import type { AppendFsync } from './redis.ts'

/** A queue and how it is configured. */
export interface System {
  readonly id: string
  readonly label: string
  readonly isOurs: boolean
  /** The file in `systems/` that drives it. */
  readonly module: string
  /** Passed to that file. */
  readonly options: Readonly<Record<string, string>>
  readonly database: { readonly store: StoreName } | { readonly redis: AppendFsync }
  readonly durability: string
  /** What was changed from the defaults, as its documentation recommends for throughput. */
  readonly settings: string
  /** Flags of Node for the process that runs it. */
  readonly flags?: readonly string[]
  /** Whether a server of ours runs between the load and the database. */
  readonly hasServer: boolean
  readonly hasBulk: boolean
  /** The part of the tasks that it gets; below 1 for a slow system, so that a round stays short. */
  readonly share: number
}

const PEER = { isOurs: false, options: {}, hasServer: false, hasBulk: true, share: 1 } as const

const POSTGRES = { database: { store: 'postgres' }, durability: 'fsync, synchronous_commit=on' } as const

const PEERS: readonly System[] = [
  {
    ...PEER,
    ...POSTGRES,
    id: 'graphile-worker',
    label: `graphile-worker ${VERSIONS['graphile-worker']}, PostgreSQL`,
    module: 'graphile-worker.js',
    settings:
      'concurrentJobs 24, maxPoolSize 25, localQueue.size 500, completeJobBatchDelay 0, failJobBatchDelay 0; bulk: addJobs with 1,000 jobs',
  },
  {
    ...PEER,
    ...POSTGRES,
    id: 'pg-boss',
    label: `pg-boss ${VERSIONS['pg-boss']}, PostgreSQL`,
    module: 'pg-boss.js',
    settings:
      '8 workers, batchSize 1,000, pollingIntervalSeconds 0.5, 20 connections; bulk: insert with 1,000 jobs, then 4 loops of fetch(500) and complete, which are faster than workers',
  },
  ...(['everysec', 'always'] as const).map((appendfsync) => ({
    ...PEER,
    id: `bullmq-${appendfsync}`,
    label: `BullMQ ${VERSIONS.bullmq}, Redis (${appendfsync})`,
    module: 'bullmq.js',
    database: { redis: appendfsync },
    durability:
      appendfsync === 'always'
        ? 'appendonly, appendfsync always'
        : 'appendonly, appendfsync everysec: a crash can lose the last second',
    settings: `concurrency 100, ioredis ${VERSIONS.ioredis}; bulk: addBulk with 1,000 jobs`,
  })),
  {
    ...PEER,
    ...POSTGRES,
    id: 'dbos',
    label: `DBOS ${VERSIONS['@dbos-inc/dbos-sdk']}, PostgreSQL`,
    module: 'dbos.js',
    settings:
      'one queue without limits, minPollingIntervalMs 100, 20 connections; it has no bulk call: 64 callers enqueue single workflows while the queue runs',
    share: 0.25,
  },
  {
    ...PEER,
    id: 'plainjob',
    label: `plainjob ${VERSIONS.plainjob}, SQLite`,
    module: 'plainjob.js',
    database: { store: 'sqlite' },
    durability: 'WAL, synchronous=NORMAL (its own setting): a power failure can lose the last commits',
    settings: 'one worker process per core, pollIntervall 100; bulk: addMany with 1,000 jobs',
  },
]

const OURS = [
  {
    id: 'embedded',
    label: 'embedded',
    module: 'embedded.js',
    settings:
      '8 loops that claim and complete up to 100 tasks; bulk: create_tasks with 1,000 tasks, 4 at a time; --max-semi-space-size=64, as the servers have',
    flags: ['--max-semi-space-size=64'],
    hasServer: false,
    hasBulk: true,
  },
  {
    id: 'rest',
    label: 'REST',
    module: 'http.ts',
    settings:
      'live: 64 connections that claim and complete one task per request; bulk: batches of 100 tasks on 16 connections',
    hasServer: true,
    hasBulk: true,
  },
  {
    id: 'mcp',
    label: 'MCP 2026-07-28',
    module: 'http.ts',
    settings: '64 connections that claim and complete one task per call',
    hasServer: true,
    hasBulk: false,
  },
  {
    id: 'sdk',
    label: 'client and worker SDK',
    module: 'sdk.js',
    settings: 'concurrency 100, and 400 in bulk; bulk: createTasks with 100 tasks, 16 at a time',
    hasServer: true,
    hasBulk: true,
  },
]

const STORES = {
  sqlite: { label: 'SQLite', durability: 'WAL, synchronous=FULL' },
  postgres: { label: 'PostgreSQL', durability: POSTGRES.durability },
}

const NAMES: readonly StoreName[] = ['sqlite', 'postgres']

export const SYSTEMS: readonly System[] = [
  ...PEERS,
  ...NAMES.flatMap((store) =>
    OURS.map((way) => ({
      ...way,
      id: `asyncgate-${way.id}-${store}`,
      label: `AsyncGate ${way.label}, ${STORES[store].label}`,
      isOurs: true,
      options: { store, protocol: way.id },
      database: { store },
      durability: STORES[store].durability,
      share: 1,
    })),
  ),
]
