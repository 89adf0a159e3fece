import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { isParked, type Status } from '../core/transitions.ts'
import type { TaskEvent } from '../engine/events.ts'
import type { Gate } from '../features/gate.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200]

/** Types of tasks are the clients' to choose: those beyond this number are counted together. */
const MAX_TYPES = 100

const WORKER_ACTIVE_MS = 5 * 60_000
const MAX_WORKERS = 10_000

/** Counts what happens to tasks in this process. Returns the ways to stop. */
export function watchTasks(gate: Gate, registry: Registry): (() => void)[] {
  const registers = [registry]
  const counter = (name: string, help: string) =>
    new Counter({ name: `asyncgate_${name}`, help, labelNames: ['type'], registers })
  const created = counter('tasks_queued_total', 'Tasks created')
  const ended: Partial<Record<Status, Counter<'type'>>> = {
    succeeded: counter('tasks_completed_total', 'Tasks that succeeded'),
    failed: counter('tasks_failed_total', 'Tasks that failed for good'),
    canceled: counter('tasks_canceled_total', 'Tasks that were canceled'),
  }
  const histogram = (name: string, help: string) =>
    new Histogram({ name: `asyncgate_${name}`, help, buckets: SECONDS, registers })
  const claimed = histogram('claim_latency_seconds', 'From the creation of a task to its first lease')
  const ran = histogram('task_duration_seconds', 'From the start of the work to its end')
  const typeLabel = boundedLabel(MAX_TYPES)
  const workers = activeWorkers(registers)

  const count = (event: TaskEvent) => {
    const { status, at, created_at, started_at } = event
    if (event.worker_id !== null) workers.saw(event.worker_id)
    if (isNew(event)) created.inc({ type: typeLabel(event.type) })
    if (status === 'leased' && event.fence === 1 && created_at !== undefined) {
      claimed.observe((at - created_at) / 1000)
    }
    // A success that gains its evidence later is told of again.
    if (event.completed_at !== at) return
    ended[status]?.inc({ type: typeLabel(event.type) })
    if (started_at !== null) ran.observe((at - started_at) / 1000)
  }
  return [gate.onTask(count)]
}

/** One that was delayed or had to wait for an approval is told of again, before its first lease. */
function isNew({ fence, at, created_at, status }: TaskEvent): boolean {
  return fence === 0 && created_at === at && (status === 'queued' || isParked(status))
}

/** The value itself while there are few, then `other`. */
function boundedLabel(limit: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.size < limit) known.add(value)
    return known.has(value) ? value : 'other'
  }
}

function activeWorkers(registers: Registry[]) {
  const lastSeen = new Map<string, number>()
  new Gauge({
    name: 'asyncgate_workers_active',
    help: 'Workers that this process has heard of in the last five minutes',
    registers,
    collect() {
      const since = Date.now() - WORKER_ACTIVE_MS
      for (const [worker, at] of lastSeen) if (at < since) lastSeen.delete(worker)
      this.set(lastSeen.size)
    },
  })
  return {
    saw(worker: string): void {
      if (lastSeen.size < MAX_WORKERS || lastSeen.has(worker)) lastSeen.set(worker, Date.now())
    },
  }
}
