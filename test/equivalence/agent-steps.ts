import type { Json } from '../../src/core/json/json.ts'
import { ALICE, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const FULL = {
  ...ALICE,
  type: 'report',
  principal_ai: 'alice',
  payload: { n: 1, text: 'né \u{1f600}', list: [true, null, 1.5] },
  payload_pointer: 'depot://1',
  summary: 'one',
  body: 'long',
  inputs: { language: 'python' },
  requirements: { capabilities: ['python'], tags: ['fast'] },
  priority: 3,
  idempotency_key: 'k1',
  max_attempts: 3,
  max_expiries: 4,
  retry_backoff_seconds: 5,
  delay_seconds: 0,
  timeout_seconds: 600,
  expected_outcome_kind: 'artifact_pointer',
  expected_artifact_mime: 'text/plain',
  parent_task_id: 'elsewhere',
  session_id: 's1',
  labels: { team: 'search', n: '1' },
}

const nested = (levels: number): Json => (levels === 0 ? 1 : { a: nested(levels - 1) })

/** Agents create, read, list, cancel and retry tasks. */
export const agentSteps: readonly Step[] = [
  ok('create_task', FULL, { status: 'queued', is_duplicate: false }, 'full'),
  ok('create_task', FULL, { task_id: '$full.task_id', is_duplicate: true }),
  no('create_task', { ...FULL, priority: 4 }, 'IDEMPOTENCY_CONFLICT'),
  no('create_task', ALICE, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', colour: 'red' }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 7 }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a\0b' }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', payload: { deep: ['\ud800'] } }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', labels: { team: 1 } }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', payload: 'x'.repeat(5000) }, 'PAYLOAD_TOO_LARGE'),
  no('create_task', { ...ALICE, type: 'a', payload: 2 ** 53 }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', payload: nested(64) }, 'VALIDATION_ERROR'),
  ok('create_task', { ...ALICE, type: 'deep', payload: nested(63) }),
  no('create_task', { ...ALICE, type: 'a', payload: { ['__proto__']: 1 } }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'a', caused_by_receipt_id: NOWHERE }, 'PARENT_NOT_FOUND'),
  no('create_task', { principal_kind: 'worker', principal_id: 'w1', type: 'a' }, 'FORBIDDEN'),
  no('create_task', { principal_kind: 'system', principal_id: 'x', type: 'a' }, 'FORBIDDEN'),
  no('create_task', { principal_kind: 'ghost', principal_id: 'x', type: 'a' }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, tenant_id: 'other', type: 'a' }, 'FORBIDDEN'),
  ok('create_task', { type: 'unowned' }, { status: 'queued' }, 'operators'),
  ok('create_task', { ...ALICE, tenant_id: 'default', trace_id: 't', type: 'plain' }, {}, 'plain'),
  ok('create_task', { ...BOB, type: 'bobs', caused_by_receipt_id: '$full.receipt_id' }, {}, 'bobs'),

  ok(
    'create_tasks',
    {
      ...ALICE,
      tasks: [{ type: 'many', session_id: 's2' }, { kind: 'none' }, { type: 'late', delay_seconds: 60 }, 7],
    },
    {
      results: [
        { status: 'queued' },
        { code: 'VALIDATION_ERROR' },
        { status: 'queued' },
        { code: 'VALIDATION_ERROR' },
      ],
    },
    'many',
  ),
  no('create_tasks', { ...ALICE, tasks: [] }, 'VALIDATION_ERROR'),
  no('create_tasks', { principal_kind: 'worker', principal_id: 'w1', tasks: [{}] }, 'FORBIDDEN'),

  ok('get_task', { ...ALICE, task_id: '$full.task_id' }, { type: 'report', labels: { team: 'search' } }),
  ok(
    'get_task',
    { ...ROOT, task_id: '$operators.task_id' },
    { created_by: { kind: 'service', id: 'operator' } },
  ),
  no('get_task', { ...BOB, task_id: '$full.task_id' }, 'FORBIDDEN'),
  no('get_task', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  no('get_task', { ...ALICE, task_id: 'no id at all' }, 'TASK_NOT_FOUND'),

  ok('wait_for_task', { ...ALICE, task_id: '$full.task_id', wait_seconds: 0.01 }, { done: false }),
  no('wait_for_task', { ...ALICE, task_id: '$full.task_id', wait_seconds: 51 }, 'VALIDATION_ERROR'),
  no('wait_for_task', { ...ALICE, task_id: NOWHERE, wait_seconds: 0 }, 'TASK_NOT_FOUND'),

  ok(
    'list_tasks',
    { ...ALICE, labels: { team: 'search', n: '1' } },
    { tasks: [{ task_id: '$full.task_id' }] },
  ),
  ok('list_tasks', { ...ALICE, status: 'queued', created_by: 'agent:alice', limit: 3 }, {}, 'page'),
  ok(
    'list_tasks',
    { ...ALICE, status: 'queued', created_by: 'agent:alice', limit: 3, cursor: '$page.next_cursor' },
    { next_cursor: null },
  ),
  ok('list_tasks', { ...ROOT, type: 'bobs' }, { tasks: [{ caused_by_receipt_id: '$full.receipt_id' }] }),
  no('list_tasks', { ...BOB, cursor: '$page.next_cursor' }, 'VALIDATION_ERROR'),
  no('list_tasks', { ...BOB, created_by: 'alice' }, 'FORBIDDEN'),
  no('list_tasks', { ...BOB, status: 'asleep' }, 'VALIDATION_ERROR'),
  no('list_tasks', { ...BOB, limit: 'many' }, 'VALIDATION_ERROR'),

  ok('count_tasks', { ...ALICE, session_id: 's1', labels: { team: 'search' } }, { queued: 1, more: false }),
  ok('count_tasks', { ...ROOT, type: 'bobs', created_by: 'bob' }, { queued: 1, succeeded: 0 }),
  no('count_tasks', { ...BOB, created_by: 'alice' }, 'FORBIDDEN'),
  no('count_tasks', { ...BOB, status: 'queued' }, 'VALIDATION_ERROR'),

  no('cancel_task', { ...BOB, task_id: '$plain.task_id' }, 'FORBIDDEN'),
  no('cancel_task', { ...ALICE, task_id: '$plain.task_id', reason: '' }, 'VALIDATION_ERROR'),
  no('retry_task', { ...ALICE, task_id: '$plain.task_id' }, 'INVALID_STATE_TRANSITION'),
  ok(
    'cancel_task',
    { ...ALICE, task_id: '$plain.task_id', reason: 'enough' },
    { ok: true, status: 'canceled' },
  ),
  ok('cancel_task', { ...ALICE, task_id: '$plain.task_id' }, { ok: false, status: 'canceled' }),
  ok('retry_task', { ...ALICE, task_id: '$plain.task_id' }, { status: 'queued' }, 'retried'),
  no('retry_task', { ...BOB, task_id: '$plain.task_id' }, 'FORBIDDEN'),
  no('retry_task', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  ok('wait_for_task', { ...ALICE, task_id: '$plain.task_id' }, { done: true, status: 'canceled' }),

  ok('cancel_tasks', { ...ALICE, session_id: 's2', reason: 'over' }, { count: 1, more: false }),
  ok('cancel_tasks', { ...ALICE, task_ids: ['$retried.task_id', '$bobs.task_id', NOWHERE] }, { count: 1 }),
  ok('create_tasks', { ...BOB, tasks: Array(3).fill({ type: 'flood', labels: { kind: 'flood' } }) }),
  ok(
    'cancel_tasks',
    { ...BOB, labels: { kind: 'flood' }, limit: 2 },
    { count: 2, matched: 2, skipped: 0, more: true },
    'flood',
  ),
  ok(
    'cancel_tasks',
    { ...BOB, labels: { kind: 'flood' }, cursor: '$flood.next_cursor' },
    { count: 1, more: false, next_cursor: null },
  ),
  no('cancel_tasks', { ...BOB, type: 'flood', cursor: '$flood.next_cursor' }, 'VALIDATION_ERROR'),
  no('cancel_tasks', { ...BOB, type: 'flood', all: true }, 'VALIDATION_ERROR'),
  no('cancel_tasks', ALICE, 'VALIDATION_ERROR'),
  no('cancel_tasks', { ...ALICE, type: 'a', task_ids: [NOWHERE] }, 'VALIDATION_ERROR'),
  no('cancel_tasks', { ...ALICE, created_by: 'ghost:x' }, 'VALIDATION_ERROR'),

  ok('create_task', { ...BOB, type: 'bulky' }, {}, 'bulky'),
  ok(
    'start_bulk_operation',
    { ...BOB, action: 'cancel', query: 'type:bulky', reason: 'over' },
    { action: 'cancel', total: 1, is_total_exact: true, reason: 'over' },
    'bulk',
  ),
  ok(
    'get_bulk_operation',
    { ...BOB, bulk_id: '$bulk.bulk_id', wait_seconds: 50 },
    { state: 'done', done: 1, skipped: 0, failed: 0 },
  ),
  ok('abort_bulk_operation', { ...BOB, bulk_id: '$bulk.bulk_id' }, { state: 'done' }),
  ok('list_bulk_operations', BOB, {}),
  no('start_bulk_operation', { ...BOB, action: 'cancel' }, 'VALIDATION_ERROR'),
  no('get_bulk_operation', { ...ALICE, bulk_id: '$bulk.bulk_id' }, 'FORBIDDEN'),
  no('get_bulk_operation', { ...ALICE, bulk_id: 'none' }, 'BULK_OPERATION_NOT_FOUND'),
  no('abort_bulk_operation', { ...ALICE, bulk_id: '$bulk.bulk_id' }, 'FORBIDDEN'),
  no('list_bulk_operations', { ...BOB, other: 1 }, 'VALIDATION_ERROR'),
]
