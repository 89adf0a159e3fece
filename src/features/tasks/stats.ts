import type { Engine } from '../../engine/engine.ts'
import type { OutboxCounts } from '../../store/outbox.ts'
import type { SharedLedger } from '../receipts/shared-ledger.ts'
import type { WorkerRegistry } from '../workers/registry.ts'
import type { WorkerState } from '../workers/shape.ts'

export interface Stats {
  readonly open_tasks: number
  readonly active_leases: number
  readonly pending_approval: number
  readonly input_required: number
  /** Creation time of the oldest task at the head of a lane; null if none is ready. */
  readonly oldest_ready_at: number | null
  readonly waiting_claims: number
  /** Rates of task types that have reached their limit. */
  readonly full_rates: number
  readonly workers: Readonly<Record<WorkerState, number>>
  /** Receipts that the shared ledger has not accepted; null if there is no shared ledger. */
  readonly outbox: OutboxCounts | null
}

/** The totals of the tenants that this process has served. */
export async function stats({
  engine,
  workers: registry,
  sharedLedger,
}: {
  readonly engine: Engine
  readonly workers: WorkerRegistry
  readonly sharedLedger: SharedLedger | undefined
}): Promise<Stats> {
  const { reads } = engine.store
  const all = await engine.reading(() =>
    Promise.all(
      engine.knownTenants.map(async ({ tenant }) => {
        const [counters, head, open, workers] = await Promise.all([
          reads.counters(tenant),
          reads.headOfLine(tenant),
          reads.openQuestions(tenant),
          registry.count(tenant),
        ])
        return { ...counters, head, open, workers }
      }),
    ),
  )
  const heads = all.flatMap(({ head }) => (head === null ? [] : [head]))
  const outbox = sharedLedger === undefined ? null : await engine.reading(() => sharedLedger.lag())
  return {
    outbox,
    open_tasks: all.reduce((sum, { open_tasks }) => sum + open_tasks, 0),
    active_leases: all.reduce((sum, { active_leases }) => sum + active_leases, 0),
    pending_approval: all.reduce((sum, { open }) => sum + open.approval, 0),
    input_required: all.reduce((sum, { open }) => sum + open.input, 0),
    oldest_ready_at: heads.length === 0 ? null : Math.min(...heads),
    waiting_claims: engine.wakeups.claims.count,
    full_rates: engine.knownTenants.reduce(
      (sum, { tenant }) => sum + engine.directory.of(tenant).rates.fullCount,
      0,
    ),
    workers: {
      idle: all.reduce((sum, { workers }) => sum + workers.idle, 0),
      busy: all.reduce((sum, { workers }) => sum + workers.busy, 0),
      offline: all.reduce((sum, { workers }) => sum + workers.offline, 0),
    },
  }
}
