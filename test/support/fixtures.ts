import { type InboxItem, newItem } from '../../src/core/inbox.ts'
import { canonical } from '../../src/core/json/json.ts'
import type { LaneRow } from '../../src/core/matching.ts'
import type { PrincipalKey } from '../../src/core/principal.ts'
import type { Question } from '../../src/core/question.ts'
import type { Receipt } from '../../src/core/receipt.ts'
import type {
  DoneTask,
  HeldTask,
  Lease,
  Outcome,
  ParkedTask,
  ProgressEntry,
  QueuedTask,
  TaskCore,
  TaskSpec,
} from '../../src/core/task.ts'
import type { Tenant } from '../../src/core/world.ts'
import {
  type Changes,
  type Committed,
  emptyLoaded,
  type Loaded,
  type Need,
  NO_NEED,
  type Store,
  type TenantRef,
} from '../../src/store/store.ts'

export const NOW = Date.UTC(2026, 0, 1)

export const ALICE: PrincipalKey = 'agent:alice'
export const BOB: PrincipalKey = 'agent:bob'
export const WORKER: PrincipalKey = 'worker:w1'

/** Texts that a careless encoding would change, split or misinterpret. */
export const WEIRD_TEXTS: readonly string[] = [
  '',
  ' ',
  'NULL',
  'null',
  "it's",
  '"quoted"',
  'back\\slash',
  '\\',
  '\\N',
  'a,b',
  '{}',
  '{a,"b"}',
  '[1, 2]',
  '(x);--',
  '$1 ? :name @x',
  '%_',
  'line\nbreak\r\n\ttab',
  'trailing ',
  'é',
  'e\u0301',
  '🦀 emoji',
  '\u2028\u00a0\ufeff',
]

export const NO_CHANGES: Changes = {
  tenants: [],
  inserted: [],
  updated: [],
  finished: [],
  repaired: [],
  specs: [],
  asked: [],
  decided: [],
  receipts: [],
  opened: [],
  closed: [],
  owners: [],
  lanes: [],
  counted: [],
  progress: [],
  relationships: [],
  filed: [],
  marked: [],
  linked: [],
  followed: [],
  child_tasks: [],
  child_counts: [],
  unsettled: [],
  settled: [],
  granted: [],
  answered: [],
  hints: [],
}

/** Commits rows of these tenants. It loads what they change, as every commit must. */
export function put(
  store: Store,
  tenants: number | readonly number[],
  changes: Partial<Changes>,
): Promise<Committed> {
  const all = { ...NO_CHANGES, ...changes }
  const tasks = [...all.updated, ...all.finished, ...all.repaired]
  return store.commit({ ...NO_NEED, tenants: list(tenants), tasks, items: all.marked }, () => all)
}

/** The data that a batch of these tenants loads. */
export async function look(
  store: Store,
  tenants: number | readonly number[],
  need: Partial<Need> = {},
): Promise<Loaded> {
  let seen = emptyLoaded(0)
  await store.commit({ ...NO_NEED, ...need, tenants: list(tenants) }, (loaded) => {
    seen = { ...loaded }
    return NO_CHANGES
  })
  return seen
}

function list(tenants: number | readonly number[]): readonly number[] {
  return typeof tenants === 'number' ? [tenants] : [...tenants].sort((a, b) => a - b)
}

/** The id of a task with this seq, or of anything else. */
export function uuid(n: number): string {
  const hex = n.toString(16).padStart(11, '0')
  return `00000000-0000-7${hex.slice(0, 3)}-8000-0000${hex.slice(3)}`
}

export function counters({ tenant, salt }: TenantRef, over: Partial<Tenant> = {}): Tenant {
  return {
    tenant,
    salt,
    seq: 0,
    clock: 0,
    open_tasks: 0,
    active_leases: 0,
    ended_tasks: 0,
    receipt_bytes: 0,
    lanes: 0,
    lanes_version: 0,
    ...over,
  }
}

/** An empty lane of the type `type-N`. */
export function lane(tenant: number, number: number, over: Partial<LaneRow> = {}): LaneRow {
  const state = {
    mark: null,
    tasks: 0,
    owner: null,
    owned: 0,
    version: 1,
    max_held: null,
    held: 0,
    rate: null,
  }
  const name = { type: `type-${number}`, capabilities: [], priority: 0, limited: null, rated: null }
  return { tenant, lane: number, ...name, ...state, ...over }
}

/** An item of Alice's inbox, filed at the time NOW. */
export function item(tenant: number, seq: number, over: Partial<InboxItem> = {}): InboxItem {
  return { ...newItem(tenant, ALICE, seq, NOW), ...over }
}

type Over<T> = Partial<T> & { readonly tenant: number; readonly seq: number }

/** The id is derived from the seq. */
function core(over: Over<TaskCore>): TaskCore {
  return {
    task_id: uuid(over.seq),
    lane: 2,
    pool: 1,
    rank: over.seq * 1000,
    owner: ALICE,
    principal_ai: 'alice',
    attempt: 0,
    max_attempts: 3,
    expiry_count: 0,
    max_expiries: 5,
    retry_backoff_seconds: 15,
    timeout_seconds: null,
    deadline_at: null,
    retention_days: null,
    escalation_class: null,
    scheduling: null,
    input_length: 0,
    fence: 0,
    progress_count: 0,
    question_count: 0,
    updated_at: NOW,
    flow: null,
    ...over,
  }
}

export function queued(over: Over<QueuedTask>): QueuedTask {
  return { status: 'queued', next_eligible_at: null, ...core(over), ...over }
}

export function lease(over: Partial<Lease> = {}): Lease {
  return {
    lease_id: uuid(0xabc),
    holder: WORKER,
    worker_id: 'w1',
    instance_id: null,
    acquired_at: NOW,
    expires_at: NOW + 60_000,
    renewals: 0,
    ...over,
  }
}

export function leased(over: Over<HeldTask>): HeldTask {
  return { status: 'leased', lease: lease(), started_at: null, ...core({ fence: 1, ...over }), ...over }
}

export function running(over: Over<HeldTask>): HeldTask {
  return leased({ status: 'running', started_at: NOW + 1, ...over })
}

/** A task that waits for an approval by default. */
export function parked(over: Over<ParkedTask>): ParkedTask {
  return {
    status: 'pending_approval',
    expires_at: null,
    ...core({ fence: 1, question_count: 1, ...over }),
    ...over,
  }
}

/** A question of the task with that id; its receipt has the seq. */
export function question(over: Over<Question>): Question {
  return {
    task_id: uuid(over.seq),
    n: 1,
    kind: 'approval',
    asked_by: WORKER,
    asked_at: NOW,
    lease_id: uuid(0xabc),
    expires_at: null,
    not_before: null,
    request: canonical({ title: 'May it?' }),
    state: 'open',
    decided_by: null,
    decided_at: null,
    decided_seq: null,
    answer: null,
    content_hash: 'sha256:a',
    ...over,
  }
}

export function outcome(over: Partial<Outcome> = {}): Outcome {
  return {
    completed_at: NOW + 2,
    result: canonical({ answer: 42 }),
    error: null,
    artifacts: canonical([{ type: 'file', path: 'out.txt' }]),
    delivery_proof: null,
    receipt_seq: 9,
    obligation_open: false,
    dead_letter: false,
    ...over,
  }
}

export function done(over: Over<DoneTask>): DoneTask {
  const { lease_id, holder, worker_id } = lease()
  const ended = { lease_id, holder, worker_id }
  return {
    status: 'succeeded',
    lease: ended,
    started_at: NOW + 1,
    outcome: outcome(),
    ...core(over),
    ...over,
  }
}

export function spec(over: Over<TaskSpec>): TaskSpec {
  return {
    task_id: uuid(over.seq),
    owner: ALICE,
    type: 'summarize',
    priority: 3,
    session_id: null,
    labels: null,
    idempotency_key: null,
    created_at: NOW,
    instance: 'asyncgate-1',
    input: canonical({ type: 'summarize', payload: { page: over.seq } }),
    policy: null,
    ...over,
  }
}

export function receipt(over: Over<Receipt>): Receipt {
  const body = canonical({ n: over.seq })
  return {
    receipt_type: 'task.assigned',
    created_at: NOW,
    from: ALICE,
    to: WORKER,
    task_id: null,
    lease_id: null,
    schedule_id: null,
    parents: [],
    body,
    instance: 'asyncgate-1',
    ...over,
  }
}

export function progress(tenant: number, taskId: string, n: number): ProgressEntry {
  return {
    tenant,
    task_id: taskId,
    n,
    at: NOW + n,
    lease_id: uuid(0xabc),
    progress: canonical({ percent: n }),
  }
}
