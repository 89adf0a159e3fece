/** How a task ended for this worker. */
export type TaskEnd =
  /** With a result. */
  | 'completed'
  /** Permanently. */
  | 'failed'
  /** With a failure that the server retries. */
  | 'retried'
  /** Released because the worker stopped. */
  | 'released'
  /** Waits for the answer to a question of its handler. */
  | 'parked'
  | 'canceled'
  /** The lease ended before the handler did, or before the outcome was reported. */
  | 'lost'

const ENDS: readonly TaskEnd[] = ['completed', 'failed', 'retried', 'released', 'parked', 'canceled', 'lost']

export interface TypeMetrics extends Readonly<Record<TaskEnd, number>> {
  /** The total run time of its handlers. */
  readonly seconds: number
}

/** The activity of a worker since it started. */
export interface WorkerMetrics {
  readonly worker_id: string
  readonly concurrency: number
  /** Handlers that are running. */
  readonly running: number
  /** Leases that are held: those of running handlers, and of outcomes that the server has not accepted yet. */
  readonly leases: number
  readonly claims: number
  readonly claim_errors: number
  readonly claimed: number
  readonly renewal_requests: number
  readonly renewal_errors: number
  readonly renewed: number
  /** Reports that had to be sent again. */
  readonly report_errors: number
  /** Whether the event stream is open, which reports cancellations immediately. */
  readonly event_stream: boolean
  readonly types: Readonly<Record<string, TypeMetrics>>
}

type Counters = { -readonly [Name in keyof TypeMetrics]: number }

/** The counters of a worker. */
export class Metrics {
  readonly counts = {
    claims: 0,
    claim_errors: 0,
    claimed: 0,
    renewal_requests: 0,
    renewal_errors: 0,
    renewed: 0,
    report_errors: 0,
  }
  readonly #types = new Map<string, Counters>()
  eventStream = false

  constructor(types: readonly string[]) {
    for (const type of types) this.#of(type)
  }

  ran(type: string, ms: number): void {
    this.#of(type).seconds += ms / 1000
  }

  ended(type: string, end: TaskEnd): void {
    this.#of(type)[end]++
  }

  read(current: Pick<WorkerMetrics, 'worker_id' | 'concurrency' | 'running' | 'leases'>): WorkerMetrics {
    return {
      ...current,
      ...this.counts,
      event_stream: this.eventStream,
      types: Object.fromEntries([...this.#types].map(([type, counters]) => [type, { ...counters }])),
    }
  }

  #of(type: string): Counters {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const ends = { completed: 0, failed: 0, retried: 0, released: 0, parked: 0, canceled: 0, lost: 0 }
    const counters = { ...ends, seconds: 0 }
    this.#types.set(type, counters)
    return counters
  }
}

/** The metrics in the text format of Prometheus. */
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
  family('concurrency', 'gauge', 'Maximum number of concurrent handlers')(metrics.concurrency)
  family('running', 'gauge', 'Running handlers')(metrics.running)
  family('leases', 'gauge', 'Held leases')(metrics.leases)
  family('event_stream', 'gauge', 'Whether the event stream is open')(metrics.event_stream ? 1 : 0)
  family('claims_total', 'counter', 'Successful claim requests')(metrics.claims)
  family('claim_errors_total', 'counter', 'Failed claim requests')(metrics.claim_errors)
  family('claimed_total', 'counter', 'Claimed tasks')(metrics.claimed)
  family('renewed_total', 'counter', 'Lease renewals')(metrics.renewed)
  family('renewal_requests_total', 'counter', 'Successful renewal requests')(metrics.renewal_requests)
  family('renewal_errors_total', 'counter', 'Failed renewal requests')(metrics.renewal_errors)
  family('report_errors_total', 'counter', 'Reports that had to be sent again')(metrics.report_errors)
  const types = Object.entries(metrics.types)
  const tasks = family('tasks_total', 'counter', 'Tasks by type and end')
  for (const [type, counters] of types) for (const end of ENDS) tasks(counters[end], { type, end })
  const seconds = family('task_seconds_total', 'counter', 'Total run time of handlers')
  for (const [type, counters] of types) seconds(counters.seconds, { type })
  return `${lines.join('\n')}\n`
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}
