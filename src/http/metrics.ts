import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Aggregator, AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Status } from '../core/transitions.ts'
import { isCreation, isEnd } from '../engine/events.ts'
import { AUDIT_EVENTS } from '../features/audit/port.ts'
import type { Gate } from '../features/gate.ts'

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 50]
const SLOW = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200]
const BATCHES = [1, 2, 5, 10, 20, 50, 100, 200, 500]
const NANOSECONDS = 1e9

/** Clients choose task types, so types beyond this number share a label. */
const MAX_TYPES = 100

const WORKER_ACTIVE_MS = 5 * 60_000
const MAX_WORKERS = 10_000

/** The metrics of one process with their values. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The processes of a server that share a port. Any of them may be asked for the metrics, and responds for all. */
export interface Siblings {
  /** `read` resolves with the metrics of this process. */
  share(read: () => Promise<MetricValues>): void
  /** Resolves with the metrics of all processes. */
  gather(): Promise<readonly MetricValues[]>
}

interface MetricsOptions {
  /** The number of waiting requests, and of open event streams. */
  readonly connections: () => { readonly polls: number; readonly streams: number }
  readonly siblings?: Siblings | undefined
}

/** The metrics of one server. Labels are routes, statuses, and types of tasks or receipts; never ids. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #gate: Gate
  readonly #lag = monitorEventLoopDelay({ resolution: 20 })
  readonly #unsubscribe: (() => void)[]
  readonly #requests: Histogram<'method' | 'route' | 'status'>
  readonly #deprecated: Counter<'route'>
  readonly #refused: Counter<'limit'>
  readonly #gauges: ReturnType<typeof createGauges>
  readonly #options: MetricsOptions

  constructor(gate: Gate, options: MetricsOptions) {
    this.#gate = gate
    this.#options = options
    this.#lag.enable()
    const create = instruments(this.#registry)
    this.#requests = create.histogram(
      'http_request_duration_seconds',
      'Requests by route and status, with the time until the response was sent',
      FAST,
      ['method', 'route', 'status'],
    )
    this.#deprecated = create.counter('deprecated_requests_total', 'Requests to deprecated routes', ['route'])
    this.#refused = create.counter(
      'connections_refused_total',
      'Connections that were closed because there were too many, of the server or of one address',
      ['limit'],
    )
    this.#gauges = createGauges(create)
    this.#unsubscribe = [watchTasks, watchCommits, watchWebhooks, watchEmissions, watchAudit].map((watch) =>
      watch(gate, create),
    )
    options.siblings?.share(async () => {
      await this.#refresh()
      return this.#registry.getMetricsAsJSON()
    })
  }

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds)
  }

  deprecated(route: string): void {
    this.#deprecated.inc({ route })
  }

  refusedConnection(limit: 'server' | 'address'): void {
    this.#refused.inc({ limit })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** The text format of Prometheus. Metrics from the database are omitted while it does not respond. */
  async text(): Promise<string> {
    const { siblings } = this.#options
    if (siblings !== undefined) {
      return AggregatorRegistry.aggregate([...(await siblings.gather())]).metrics()
    }
    await this.#refresh()
    return this.#registry.metrics()
  }

  close(): void {
    this.#lag.disable()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  /** Sets the gauges. */
  async #refresh(): Promise<void> {
    const { depth, leases, age, claims, rates, workers, outbox, ...own } = this.#gauges
    depth.reset()
    workers.reset()
    outbox.reset()
    for (const gauge of [leases, age, claims]) gauge.remove()
    const stats = await this.#gate.stats().catch(() => undefined)
    if (stats !== undefined) {
      const { open_tasks, active_leases, pending_approval, input_required } = stats
      depth.set({ status: 'queued' }, open_tasks - active_leases - pending_approval - input_required)
      depth.set({ status: 'pending_approval' }, pending_approval)
      depth.set({ status: 'input_required' }, input_required)
      depth.set({ status: 'leased' }, active_leases)
      leases.set(active_leases)
      age.set(stats.oldest_ready_at === null ? 0 : Math.max(0, Date.now() - stats.oldest_ready_at) / 1000)
      claims.set(stats.waiting_claims)
      rates.set(stats.full_rates)
      for (const [state, count] of Object.entries(stats.workers)) workers.set({ state }, count)
      for (const [state, count] of Object.entries(stats.outbox ?? {})) outbox.set({ state }, count)
    }
    const { polls, streams } = this.#options.connections()
    own.polls.set(polls)
    own.streams.set(streams)
    own.memory.set(process.memoryUsage.rss())
    for (const quantile of [50, 99]) {
      own.lag.set({ quantile: quantile / 100 }, this.#lag.percentile(quantile) / NANOSECONDS)
    }
    own.lag.set({ quantile: 1 }, this.#lag.max / NANOSECONDS)
    this.#lag.reset()
  }
}

type Instruments = ReturnType<typeof instruments>

function instruments(registry: Registry) {
  const common = (name: string, help: string) => ({ name: `asyncgate_${name}`, help, registers: [registry] })
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter<Label>({ ...common(name, help), labelNames }),
    /** `aggregator` is how the values of several processes are combined. */
    gauge: (
      name: string,
      help: string,
      aggregator: Aggregator,
      labelNames: string[] = [],
      collect = (_: Gauge) => {},
    ) =>
      new Gauge({
        ...common(name, help),
        labelNames,
        aggregator,
        collect() {
          collect(this)
        },
      }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ) => new Histogram<Label>({ ...common(name, help), buckets, labelNames }),
  }
}

/** What comes from the database is the same in all processes; what a process counts is added up. */
function createGauges({ gauge }: Instruments) {
  return {
    depth: gauge('task_queue_depth', 'Open tasks by status; leased includes running tasks', 'max', [
      'status',
    ]),
    leases: gauge('active_leases', 'Active leases', 'max'),
    age: gauge('oldest_pending_task_age_seconds', 'Age of the oldest task at the head of a lane', 'max'),
    rates: gauge('full_rates', 'Rates of task types that have reached their limit', 'max'),
    claims: gauge('waiting_claims', 'Claims that wait for a task in this server', 'sum'),
    workers: gauge('workers', 'Workers by state: idle, busy or offline', 'max', ['state']),
    outbox: gauge('receipt_outbox', 'Receipts that wait for ReceiptGate or were set aside, by state', 'max', [
      'state',
    ]),
    polls: gauge('long_polls', 'Waiting requests', 'sum'),
    streams: gauge('event_streams', 'Open event streams', 'sum'),
    lag: gauge('event_loop_lag_seconds', 'Delay of the event loop since the last scrape', 'max', [
      'quantile',
    ]),
    memory: gauge('process_resident_memory_bytes', 'Resident memory of this server', 'sum'),
  }
}

/** Counts the completion webhooks that this process sends. Returns an unsubscribe function. */
function watchWebhooks(gate: Gate, { counter }: Instruments): () => void {
  const attempts = counter(
    'task_webhook_attempts_total',
    'Attempts to send completion webhooks by outcome: delivered, retried or failed for good',
    ['outcome'],
  )
  return gate.webhookAttempts.onAttempt((outcome) => attempts.inc({ outcome }))
}

/** Counts the receipts that this process sends to ReceiptGate. Returns an unsubscribe function. */
function watchEmissions(gate: Gate, { counter, histogram }: Instruments): () => void {
  const emissions = counter('receipt_emissions_total', 'Receipts sent to ReceiptGate by outcome', ['outcome'])
  const durations = histogram(
    'receipt_emission_duration_seconds',
    'Time until ReceiptGate responded to a receipt',
    FAST,
  )
  return gate.ledgerEmissions.onEmission(({ outcome, seconds }) => {
    emissions.inc({ outcome })
    durations.observe(seconds)
  })
}

/** Counts the commits of this process. Returns an unsubscribe function. */
function watchCommits(gate: Gate, { counter, histogram }: Instruments): () => void {
  const sizes = histogram('batch_size', 'Commands per commit', BATCHES)
  const durations = histogram('commit_duration_seconds', 'Time until a batch was durable', FAST)
  const receipts = counter('receipts_total', 'Receipts written', ['receipt_type'])
  const expiries = counter('lease_expiries_total', 'Expired leases')
  return gate.onCommit((commit) => {
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

/** Counts the security events of this process, also those that the audit log stores together. */
function watchAudit(gate: Gate, { counter }: Instruments): () => void {
  const events = counter('audit_events_total', 'Security events by event and severity', ['event', 'severity'])
  // An alert on the increase of a counter needs a first value.
  for (const [event, { severity }] of Object.entries(AUDIT_EVENTS)) events.inc({ event, severity }, 0)
  return gate.audit.onEvent(({ event }) => events.inc({ event, severity: AUDIT_EVENTS[event].severity }))
}

/** Counts the task changes of this process. Returns an unsubscribe function. */
function watchTasks(gate: Gate, create: Instruments): () => void {
  const { counter, histogram } = create
  const created = counter('tasks_queued_total', 'Tasks created', ['type'])
  const ended: Partial<Record<Status, Counter<'type'>>> = {
    succeeded: counter('tasks_completed_total', 'Tasks that succeeded', ['type']),
    failed: counter('tasks_failed_total', 'Tasks that failed permanently', ['type']),
    canceled: counter('tasks_canceled_total', 'Tasks that were canceled', ['type']),
  }
  const claimed = histogram('claim_latency_seconds', 'Time from creation to the first lease of a task', SLOW)
  const ran = histogram('task_duration_seconds', 'Time from the start to the end of a task', SLOW)
  const typeLabel = boundedLabel(MAX_TYPES)
  const sawWorker = watchWorkers(create)
  return gate.onTask((event) => {
    const { status, at, created_at, started_at } = event
    if (event.worker_id !== null) sawWorker(event.worker_id)
    if (isCreation(event)) created.inc({ type: typeLabel(event.type) })
    if (status === 'leased' && event.fence === 1 && created_at !== undefined) {
      claimed.observe((at - created_at) / 1000)
    }
    if (!isEnd(event)) return
    ended[status]?.inc({ type: typeLabel(event.type) })
    if (started_at !== null) ran.observe((at - started_at) / 1000)
  })
}

/** Returns the value for the first `limit` values, and `other` for the rest. */
function boundedLabel(limit: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.size < limit) known.add(value)
    return known.has(value) ? value : 'other'
  }
}

function watchWorkers({ gauge }: Instruments): (worker: string) => void {
  const lastSeen = new Map<string, number>()
  gauge('workers_active', 'Workers that a process has seen in the last five minutes', 'max', [], (active) => {
    const since = Date.now() - WORKER_ACTIVE_MS
    for (const [worker, at] of lastSeen) if (at < since) lastSeen.delete(worker)
    active.set(lastSeen.size)
  })
  return (worker) => {
    if (lastSeen.size < MAX_WORKERS || lastSeen.has(worker)) lastSeen.set(worker, Date.now())
  }
}
