/** How tasks ended for this worker. */
export type TaskEnd =
  /** With a result. */
  | 'completed'
  /** For good. */
  | 'failed'
  /** With a failure after which the server tries again. */
  | 'retried'
  /** Given back, since the worker stopped. */
  | 'released'
  /** It waits for the answer to what its handler has asked. */
  | 'parked'
  | 'canceled'
  /** The lease was over before the work was, or before the server could be told. */
  | 'lost'

const ENDS: readonly TaskEnd[] = ['completed', 'failed', 'retried', 'released', 'parked', 'canceled', 'lost']

export interface TypeMetrics extends Readonly<Record<TaskEnd, number>> {
  /** Time that its handlers took in all. */
  readonly seconds: number
}

/** What a worker has done since it began. */
export interface WorkerMetrics {
  readonly worker_id: string
  readonly concurrency: number
  /** Handlers that run now. */
  readonly running: number
  /** Leases that are held now: those of running handlers, and of results that the server has not taken yet. */
  readonly leases: number
  readonly claims: number
  readonly claim_errors: number
  readonly claimed: number
  readonly renewal_requests: number
  readonly renewal_errors: number
  readonly renewed: number
  /** Reports that had to be sent again. */
  readonly report_errors: number
  /** Whether cancels are heard of at once. */
  readonly event_stream: boolean
  readonly types: Readonly<Record<string, TypeMetrics>>
}

type Counters = { -readonly [Name in keyof TypeMetrics]: number }

/** Counts what the worker does. */
export class Metrics {
  #claims = 0
  #claimErrors = 0
  #claimed = 0
  #renewalRequests = 0
  #renewalErrors = 0
  #renewed = 0
  #reportErrors = 0
  readonly #types = new Map<string, Counters>()
  eventStream = false

  constructor(types: readonly string[]) {
    for (const type of types) this.#types.set(type, zero())
  }

  claimAnswered(tasks: number): void {
    this.#claims++
    this.#claimed += tasks
  }

  claimFailed(): void {
    this.#claimErrors++
  }

  renewed(leases: number): void {
    this.#renewalRequests++
    this.#renewed += leases
  }

  renewalFailed(): void {
    this.#renewalErrors++
  }

  reportFailed(): void {
    this.#reportErrors++
  }

  ran(type: string, ms: number): void {
    this.#of(type).seconds += ms / 1000
  }

  ended(type: string, end: TaskEnd): void {
    this.#of(type)[end]++
  }

  read(now: Pick<WorkerMetrics, 'worker_id' | 'concurrency' | 'running' | 'leases'>): WorkerMetrics {
    return {
      worker_id: now.worker_id,
      concurrency: now.concurrency,
      running: now.running,
      leases: now.leases,
      claims: this.#claims,
      claim_errors: this.#claimErrors,
      claimed: this.#claimed,
      renewal_requests: this.#renewalRequests,
      renewal_errors: this.#renewalErrors,
      renewed: this.#renewed,
      report_errors: this.#reportErrors,
      event_stream: this.eventStream,
      types: Object.fromEntries([...this.#types].map(([type, counters]) => [type, { ...counters }])),
    }
  }

  #of(type: string): Counters {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const counters = zero()
    this.#types.set(type, counters)
    return counters
  }
}

function zero(): Counters {
  return { completed: 0, failed: 0, retried: 0, released: 0, parked: 0, canceled: 0, lost: 0, seconds: 0 }
}

/** The same for Prometheus. */
export function prometheusText(metrics: WorkerMetrics): string {
  const lines: string[] = []
  const family = (name: string, kind: 'counter' | 'gauge', help: string) => {
    const full = `asyncgate_worker_${name}`
    lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} ${kind}`)
    return (value: number, labels: Readonly<Record<string, string>> = {}) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
      lines.push(`${full}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`)
    }
  }
  family('concurrency', 'gauge', 'Handlers that may run at once')(metrics.concurrency)
  family('running', 'gauge', 'Handlers that run')(metrics.running)
  family('leases', 'gauge', 'Leases that are held')(metrics.leases)
  family('event_stream', 'gauge', 'Whether cancels are heard of at once')(metrics.event_stream ? 1 : 0)
  family('claims_total', 'counter', 'Claims that were answered')(metrics.claims)
  family('claim_errors_total', 'counter', 'Claims that were not')(metrics.claim_errors)
  family('claimed_total', 'counter', 'Tasks that were taken')(metrics.claimed)
  family('renewed_total', 'counter', 'Renewals of leases')(metrics.renewed)
  family('renewal_requests_total', 'counter', 'Requests that renewed leases')(metrics.renewal_requests)
  family('renewal_errors_total', 'counter', 'Requests that failed to')(metrics.renewal_errors)
  family('report_errors_total', 'counter', 'Reports that had to be sent again')(metrics.report_errors)
  const types = Object.entries(metrics.types)
  const tasks = family('tasks_total', 'counter', 'Tasks by type and by how they ended')
  for (const [type, counters] of types) for (const end of ENDS) tasks(counters[end], { type, end })
  const seconds = family('task_seconds_total', 'counter', 'Time that handlers took')
  for (const [type, counters] of types) seconds(counters.seconds, { type })
  return `${lines.join('\n')}\n`
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}
