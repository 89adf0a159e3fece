import { z } from 'zod'
import { type Caller, OPERATOR, principalKey } from '../../core/principal.ts'
import { ledgerOf } from '../receipts/shared-ledger.ts'
import { watchedSchedules } from '../schedules/schedule-watch.ts'
import type { Services } from '../services.ts'
import type { TaskCounts } from '../tasks/shape.ts'

const DAY_MS = 86_400_000
const MAX_SCHEDULES = 500
/** Schedulers create tasks within seconds. */
const LATE_MS = 60_000
const MAX_ANOMALIES = 50
/** Fewer receipts than this are on their way. */
const MIN_LAG = 100
/** Retention runs every hour. */
const RETENTION_LATE_MS = 3 * 3_600_000

export const ATTENTION = {
  approvals: 'Tasks that wait for an approval',
  questions: 'Tasks that wait for input',
  unserved_types: 'Types with waiting tasks and without a live worker',
  upstreams_down: 'Upstreams that are down, or whose calls are paused after failures',
  quarantined_tools: 'Upstream tools that are not offered until an admin accepts their definition',
  schedules_late: 'Schedules whose next run is overdue: no scheduler runs, or it does not keep up',
  schedules_failing: 'Schedules whose last run could not create its task',
  anomalies: 'Anomalies that were reported to the operator in the last day, among the newest 50 receipts',
  receipts_pending: 'Receipts that wait for the shared ledger, if there are at least 100',
  receipts_set_aside: 'Receipts that the shared ledger does not accept',
  retention_paused: 'Retention is paused',
  retention_late: 'Ended tasks that retention should have removed, without a finished run for three hours',
} as const

const KINDS = Object.keys(ATTENTION) as (keyof typeof ATTENTION)[]

export const attentionShape = z.object({
  kind: z.enum(KINDS).describe('What it is about'),
  count: z.int().describe('How many there are'),
  message: z.string().describe('What it means'),
})

export type Attention = z.output<typeof attentionShape>

type Counts = Readonly<Record<keyof typeof ATTENTION, number>>

/** What a person should look at. Kinds with nothing to look at are left out. */
export async function attentionOf(
  services: Services,
  caller: Caller,
  { tenant, now, tasks, unserved }: { tenant: number; now: number; tasks: TaskCounts; unserved: number },
): Promise<Attention[]> {
  const [schedules, anomalies, receipts, retention] = await Promise.all([
    scheduleCounts(services, tenant, now),
    anomalyCount(services, tenant, now),
    ledgerOf(services.sharedLedger, caller)?.lag() ?? { pending: 0, set_aside: 0 },
    retentionCounts(services, tenant, now),
  ])
  const counts: Counts = {
    approvals: tasks.pending_approval,
    questions: tasks.input_required,
    unserved_types: unserved,
    ...upstreamCounts(services, tenant),
    ...schedules,
    anomalies,
    receipts_pending: receipts.pending >= MIN_LAG ? receipts.pending : 0,
    receipts_set_aside: receipts.set_aside,
    ...retention,
  }
  return KINDS.filter((kind) => counts[kind] > 0).map((kind) => ({
    kind,
    count: counts[kind],
    message: ATTENTION[kind],
  }))
}

function upstreamCounts({ upstreams }: Services, tenant: number) {
  const list = upstreams?.of(tenant)?.list() ?? []
  return {
    upstreams_down: list.filter(({ health }) => health.state === 'down' || health.breaker === 'open').length,
    quarantined_tools: list.reduce((sum, { counts }) => sum + counts.quarantined, 0),
  }
}

async function scheduleCounts({ engine }: Services, tenant: number, now: number) {
  const watched = await watchedSchedules(engine, tenant, '', MAX_SCHEDULES)
  const active = watched.filter((each) => !each.watched.is_paused)
  return {
    schedules_late: active.filter((each) => (each.watched.next_run_at ?? now) < now - LATE_MS).length,
    schedules_failing: active.filter((each) => each.watched.failure !== null).length,
  }
}

async function anomalyCount({ engine }: Services, tenant: number, now: number): Promise<number> {
  const to = engine.settings.escalation_target ?? principalKey(OPERATOR)
  const newest = await engine.store.reads.receipts(
    tenant,
    { by: 'to', to },
    Number.MAX_SAFE_INTEGER,
    'descending',
    MAX_ANOMALIES,
  )
  return newest.filter(
    ({ receipt_type, created_at }) => receipt_type === 'system.anomaly' && created_at > now - DAY_MS,
  ).length
}

async function retentionCounts({ retention }: Services, tenant: number, now: number) {
  const { record, due } = await retention.status(tenant)
  const isLate = !record.is_paused && (record.finished_at ?? now) < now - RETENTION_LATE_MS
  return {
    retention_paused: Number(record.is_paused),
    retention_late: isLate ? due.clear + due.archive : 0,
  }
}
