import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Gate } from '../features/gate.ts'
import { watchTasks } from './task-metrics.ts'

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 50]
const BATCHES = [1, 2, 5, 10, 20, 50, 100, 200, 500]
const NANOSECONDS = 1e9

/** The figures of one server. Labels are routes, statuses, and types of tasks or receipts; never an id. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #gate: Gate
  readonly #lag: IntervalHistogram
  readonly #unwatch: (() => void)[]
  readonly #requests: Histogram<'method' | 'route' | 'status'>
  readonly #deprecated: Counter<'route'>
  readonly #gauges: Record<
    'depth' | 'leases' | 'age' | 'claims' | 'workers' | 'polls' | 'streams' | 'lag' | 'memory',
    Gauge
  >

  constructor(gate: Gate) {
    this.#gate = gate
    this.#lag = monitorEventLoopDelay({ resolution: 20 })
    this.#lag.enable()
    const registers = [this.#registry]
    const gauge = (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name: `asyncgate_${name}`, help, labelNames, registers })
    this.#requests = new Histogram({
      name: 'asyncgate_http_request_duration_seconds',
      help: 'Requests by route and status, with the time until the answer was sent',
      labelNames: ['method', 'route', 'status'],
      buckets: FAST,
      registers,
    })
    this.#deprecated = new Counter({
      name: 'asyncgate_deprecated_requests_total',
      help: 'Requests to deprecated routes',
      labelNames: ['route'],
      registers,
    })
    this.#gauges = {
      depth: gauge('task_queue_depth', 'Open tasks by status; leased counts running ones too', ['status']),
      leases: gauge('active_leases', 'Leases that are held'),
      age: gauge('oldest_pending_task_age_seconds', 'Age of the oldest task at the head of a lane'),
      claims: gauge('waiting_claims', 'Claims that wait for work in this process'),
      workers: gauge('workers', 'Workers by state: idle, busy or offline', ['state']),
      polls: gauge('long_polls', 'Requests that are held until something happens'),
      streams: gauge('event_streams', 'Open event streams'),
      lag: gauge('event_loop_lag_seconds', 'Delay of the event loop since the last scrape', ['quantile']),
      memory: gauge('process_resident_memory_bytes', 'Memory of this process'),
    }
    this.#unwatch = [...watchTasks(gate, this.#registry), this.#watchCommits(registers)]
  }

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds)
  }

  deprecated(route: string): void {
    this.#deprecated.inc({ route })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** The text that Prometheus reads. While the database does not answer, what only it knows is left out. */
  async text(polls: number, streams: number): Promise<string> {
    const { depth, leases, age, claims, workers, ...own } = this.#gauges
    depth.reset()
    workers.reset()
    for (const gauge of [leases, age, claims]) gauge.remove()
    const stats = await this.#gate.stats().catch(() => undefined)
    if (stats !== undefined) {
      const { open_tasks, active_leases, pending_approval, input_required } = stats
      depth.set({ status: 'queued' }, open_tasks - active_leases - pending_approval - input_required)
      depth.set({ status: 'pending_approval' }, pending_approval)
      depth.set({ status: 'input_required' }, input_required)
      depth.set({ status: 'leased' }, stats.active_leases)
      leases.set(stats.active_leases)
      age.set(stats.oldest_ready_at === null ? 0 : Math.max(0, Date.now() - stats.oldest_ready_at) / 1000)
      claims.set(stats.waiting_claims)
      for (const [state, count] of Object.entries(stats.workers)) workers.set({ state }, count)
    }
    own.polls.set(polls)
    own.streams.set(streams)
    own.memory.set(process.memoryUsage.rss())
    for (const quantile of [50, 99]) {
      own.lag.set({ quantile: quantile / 100 }, this.#lag.percentile(quantile) / NANOSECONDS)
    }
    own.lag.set({ quantile: 1 }, this.#lag.max / NANOSECONDS)
    this.#lag.reset()
    return this.#registry.metrics()
  }

  close(): void {
    this.#lag.disable()
    for (const unwatch of this.#unwatch) unwatch()
  }

  #watchCommits(registers: Registry[]): () => void {
    const sizes = new Histogram({
      name: 'asyncgate_batch_size',
      help: 'Commands that were committed together',
      buckets: BATCHES,
      registers,
    })
    const durations = new Histogram({
      name: 'asyncgate_commit_duration_seconds',
      help: 'Time until a batch was durable',
      buckets: FAST,
      registers,
    })
    const receipts = new Counter({
      name: 'asyncgate_receipts_total',
      help: 'Receipts written',
      labelNames: ['receipt_type'],
      registers,
    })
    const expiries = new Counter({
      name: 'asyncgate_lease_expiries_total',
      help: 'Leases that lapsed',
      registers,
    })
    return this.#gate.onCommit((commit) => {
      sizes.observe(commit.commands)
      durations.observe(commit.ms / 1000)
      const counts = new Map<string, number>()
      for (const { receipt_type } of commit.receipts) {
        counts.set(receipt_type, (counts.get(receipt_type) ?? 0) + 1)
      }
      for (const [receipt_type, count] of counts) receipts.inc({ receipt_type }, count)
      expiries.inc(counts.get('lease.expired') ?? 0)
    })
  }
}
