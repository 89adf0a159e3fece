import { type Row, round, spread } from '../report.ts'
import { median, quantile } from '../stats.ts'

/** One system in one round. */
export interface Measurement {
  /** Tasks per second, enqueued one at a time while workers run. */
  readonly live: number
  /** Tasks per second, enqueued in batches and then processed. */
  readonly bulk?: number
  /** Tasks per second of the two steps of `bulk`. */
  readonly enqueue?: number
  readonly process?: number
  /** Milliseconds from the enqueue to the start of the handler, on an idle queue. */
  readonly pickUps: readonly number[]
  /** Peak resident memory in MB. */
  readonly memory: number
}

/** The measurements of each system by its id, in the order of the rounds. */
export type Results = ReadonlyMap<string, readonly Measurement[]>

type Metric = 'live' | 'bulk' | 'pickUp'

/** A metric of each round. */
export function perRound(measurements: readonly Measurement[], metric: Metric): number[] {
  return measurements.flatMap((measurement) => {
    const value = metric === 'pickUp' ? median(measurement.pickUps) : measurement[metric]
    return value === undefined ? [] : [value]
  })
}

export function summary(name: string, measurements: readonly Measurement[]): Row[] {
  const rate = (metric: 'live' | 'bulk', note = '') => {
    const values = perRound(measurements, metric)
    if (values.length === 0) return []
    return [
      { name: `${name}: ${metric}`, value: median(values), unit: 'tasks/s', note: spread(values) + note },
    ]
  }
  const steps = (step: 'enqueue' | 'process') =>
    round(median(measurements.flatMap((measurement) => measurement[step] ?? [])))
  const pickUps = measurements.flatMap((measurement) => measurement.pickUps)
  const memory = measurements.map((measurement) => measurement.memory)
  return [
    ...rate('live'),
    ...rate('bulk', `, enqueue ${steps('enqueue')}, process ${steps('process')}`),
    {
      name: `${name}: pick-up p50`,
      value: median(pickUps),
      unit: 'ms',
      note: `p99 ${round(quantile(pickUps, 0.99))} ms, ${pickUps.length} samples`,
    },
    { name: `${name}: memory`, value: median(memory), unit: 'MB', note: spread(memory) },
  ]
}

interface Comparison {
  readonly name: string
  readonly metric: Metric
  readonly ours: string
  readonly peer: string
  readonly target: NonNullable<Row['target']>
}

const COMPARISONS: readonly Comparison[] = [
  {
    name: 'live, REST on PostgreSQL against graphile-worker',
    metric: 'live',
    ours: 'asyncgate-rest-postgres',
    peer: 'graphile-worker',
    target: { atLeast: 2 },
  },
  {
    name: 'bulk, REST on PostgreSQL against BullMQ (always)',
    metric: 'bulk',
    ours: 'asyncgate-rest-postgres',
    peer: 'bullmq-always',
    target: { atLeast: 1 },
  },
  {
    name: 'bulk, REST on SQLite against pg-boss',
    metric: 'bulk',
    ours: 'asyncgate-rest-sqlite',
    peer: 'pg-boss',
    target: { atLeast: 1 },
  },
  {
    name: 'bulk, embedded on PostgreSQL against pg-boss',
    metric: 'bulk',
    ours: 'asyncgate-embedded-postgres',
    peer: 'pg-boss',
    target: { atLeast: 1 },
  },
  {
    name: 'bulk, embedded on PostgreSQL against graphile-worker',
    metric: 'bulk',
    ours: 'asyncgate-embedded-postgres',
    peer: 'graphile-worker',
    target: { atLeast: 0.7 },
  },
  {
    name: 'bulk, embedded on SQLite against plainjob',
    metric: 'bulk',
    ours: 'asyncgate-embedded-sqlite',
    peer: 'plainjob',
    target: { atLeast: 1.5 },
  },
  ...(['sqlite', 'postgres'] as const).map((store) => ({
    name: `pick-up, REST on ${store === 'sqlite' ? 'SQLite' : 'PostgreSQL'} against BullMQ (always)`,
    metric: 'pickUp' as const,
    ours: `asyncgate-rest-${store}`,
    peer: 'bullmq-always',
    target: { atMost: 1.5 },
  })),
]

/** The ratios of the medians, with the range of the ratios of the rounds; only for systems that were measured. */
export function comparisons(results: Results): Row[] {
  return COMPARISONS.flatMap(({ name, metric, target, ...sides }) => {
    const ours = perRound(results.get(sides.ours) ?? [], metric)
    const peer = perRound(results.get(sides.peer) ?? [], metric)
    if (ours.length === 0 || peer.length === 0) return []
    const ratios = ours.slice(0, peer.length).map((value, i) => value / (peer[i] ?? Number.NaN))
    return [{ name, value: median(ours) / median(peer), unit: 'x', note: spread(ratios), target }]
  })
}
