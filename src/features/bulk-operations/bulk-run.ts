import { ERRORS, Fault } from '../../core/errors.ts'
import { type Caller, parsePrincipalKey } from '../../core/principal.ts'
import { OPEN_STATUSES, type Status } from '../../core/transitions.ts'
import type { CreateDeps } from '../tasks/create.ts'
import { retryRecord } from '../tasks/retry.ts'
import { findTasks } from '../tasks/search/scan.ts'
import { type Search, searchFor } from '../tasks/search/search.ts'
import { type BulkAction, type BulkRecord, isByIds } from './record.ts'

/** Tasks that one step changes. A step is committed and recorded before the next one. */
const PER_STEP = 200

const RETRYABLE: readonly Status[] = ['failed', 'canceled']

/** The tasks that an action can change. */
export function statusesOf(action: BulkAction): readonly Status[] {
  return action === 'cancel' ? OPEN_STATUSES : RETRYABLE
}

/** Ages in the query are relative to the time of the request, whenever a step runs. */
export function searchOf({
  action,
  selection,
  requested_at,
}: Pick<BulkRecord, 'action' | 'selection' | 'requested_at'>): Search {
  const filter = isByIds(selection) ? {} : selection
  return searchFor(filter, requested_at, statusesOf(action))
}

interface Step {
  readonly record: BulkRecord
  /** Whether the gate refused to continue for now. */
  readonly isHeld: boolean
}

interface Candidate {
  readonly task_id: string
  /** Where the operation continues if this task has to be repeated. */
  readonly from: number
}

/**
 * Changes the next tasks of a bulk operation, from the newest down, so that tasks created meanwhile are never reached. A
 * step that runs twice changes nothing more: a task that has ended stays so, and a retry has an idempotency key.
 */
export async function nextStep(
  deps: CreateDeps,
  tenant: number,
  bulkId: string,
  record: BulkRecord,
): Promise<Step> {
  const { candidates, next } = await candidatesOf(deps, tenant, record)
  const ids = candidates.map(({ task_id }) => task_id)
  const outcomes =
    record.action === 'cancel'
      ? await cancelAll(deps, tenant, record, ids)
      : await retryAll(deps, bulkId, record, ids)
  const held = outcomes.findIndex((outcome) => outcome instanceof Fault && isTemporary(outcome))
  // A retry that is repeated reports its task again, so only what comes before the held one is counted.
  const counted = held < 0 || record.action === 'cancel' ? outcomes : outcomes.slice(0, held)
  const errors = counted.filter((outcome) => outcome instanceof Fault && !isTemporary(outcome))
  const last = outcomes[held] ?? errors.at(-1)
  const after: BulkRecord = {
    ...record,
    done: record.done + counted.filter((outcome) => outcome === 'done').length,
    skipped: record.skipped + counted.filter((outcome) => outcome === 'skipped').length,
    failed: record.failed + errors.length,
    last_error: last instanceof Fault ? last.message : record.last_error,
    position: candidates[held]?.from ?? next ?? record.position,
  }
  const isDone = held < 0 && next === null
  return { record: isDone ? { ...after, state: 'done' } : after, isHeld: held >= 0 }
}

async function candidatesOf(
  { engine }: CreateDeps,
  tenant: number,
  record: BulkRecord,
): Promise<{ readonly candidates: readonly Candidate[]; readonly next: number | null }> {
  const { selection, position } = record
  if (isByIds(selection)) {
    const ids = selection.task_ids.slice(position, position + PER_STEP)
    const end = position + ids.length
    return {
      candidates: ids.map((task_id, i) => ({ task_id, from: position + i })),
      next: end < selection.task_ids.length ? end : null,
    }
  }
  const { lines, next } = await findTasks(engine, tenant, searchOf(record), position, PER_STEP)
  return { candidates: lines.map(({ task_id, seq }) => ({ task_id, from: seq + 1 })), next }
}

type Outcome = 'done' | 'skipped' | Fault

async function cancelAll(
  { engine }: CreateDeps,
  tenant: number,
  { requested_by: by, role, reason }: BulkRecord,
  ids: readonly string[],
): Promise<Outcome[]> {
  return Promise.all(
    ids.map((task_id) =>
      outcomeOf(async () => {
        const { ok } = await engine.submitConfirmed({ verb: 'cancel', tenant, task_id, by, role, reason })
        return ok ? 'done' : 'skipped'
      }),
    ),
  )
}

/** All tasks are read before the first is created, so that the order of the new ones does not depend on the reads. */
async function retryAll(
  deps: CreateDeps,
  bulkId: string,
  { tenant: name, requested_by, role }: BulkRecord,
  ids: readonly string[],
): Promise<Outcome[]> {
  const { engine } = deps
  const caller: Caller = { tenant: name, principal: parsePrincipalKey(requested_by), role }
  const tenant = await engine.tenant(name)
  const records = await Promise.all(
    ids.map((task_id) => engine.reading(() => engine.store.reads.task(tenant.tenant, task_id))),
  )
  return Promise.all(
    ids.map((task_id, i) =>
      outcomeOf(async () => {
        const asked = { task_id, idempotency_key: `bulk:${bulkId}:${task_id}` }
        await retryRecord(deps, tenant, caller, records[i], asked)
        return 'done'
      }),
    ),
  )
}

async function outcomeOf(act: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return SKIPPED.has(error.code) ? 'skipped' : error
  }
}

/** The task does not exist, belongs to another principal, or has the wrong status by now. */
const SKIPPED: ReadonlySet<string> = new Set(['TASK_NOT_FOUND', 'FORBIDDEN', 'INVALID_STATE_TRANSITION'])

function isTemporary({ code }: Fault): boolean {
  return ERRORS[code].retryable
}
