import { ALICE, ARTIFACTS, NOWHERE } from './people.ts'
import { no, ok, type Step } from './step.ts'

const W1 = { worker_id: 'w1' }
const CLAIM = { ...W1, capabilities: ['python'], accept_types: ['report'], lease_ttl_seconds: 300 }
const HELD = { ...W1, task_id: '$held.tasks.0.task_id', lease_id: '$held.tasks.0.lease_id' }
const FIRST = { ...W1, task_id: '$pair.tasks.0.task_id', lease_id: '$pair.tasks.0.lease_id' }
const SECOND = { ...W1, task_id: '$pair.tasks.1.task_id', lease_id: '$pair.tasks.1.lease_id' }
const BRIEF = { ...W1, task_id: '$brief.tasks.0.task_id', lease_id: '$brief.tasks.0.lease_id' }
const LOST = { ...W1, task_id: '$lost.tasks.0.task_id', lease_id: '$lost.tasks.0.lease_id' }
const CALLED_OFF = { ...W1, task_id: '$off.tasks.0.task_id', lease_id: '$off.tasks.0.lease_id' }
const RESULT = { rows: [1, 2.5, 'three'] }

/** Workers claim tasks, renew leases, end tasks in every way, and lose leases. */
export const workerSteps: readonly Step[] = [
  ok('lease_next', { ...W1, accept_types: ['report'] }, { tasks: [] }),
  ok('lease_next', CLAIM, { tasks: [{ task_id: '$full.task_id', fence: 1, attempt: 0 }] }, 'held'),
  ok('lease_next', { ...CLAIM, wait_seconds: 0.01 }, { tasks: [] }),
  no('lease_next', { ...CLAIM, max_tasks: 0 }, 'VALIDATION_ERROR'),
  no('lease_next', { capabilities: [] }, 'VALIDATION_ERROR'),
  no('lease_next', { ...W1, worker_kind: 'agent' }, 'VALIDATION_ERROR'),

  ok('start_task', HELD, { ok: true, status: 'running' }),
  no('start_task', { ...HELD, lease_id: NOWHERE }, 'LEASE_INVALID_OR_EXPIRED'),
  no('start_task', { ...HELD, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  no('start_task', { ...W1, task_id: '$full.task_id' }, 'VALIDATION_ERROR'),

  ok('report_progress', { ...HELD, progress: { percent: 50, message: 'half' } }, { ok: true }),
  ok('report_progress', { ...HELD, progress: { step: 2 }, extend_by_seconds: 400 }, { ok: true }),
  no('report_progress', { ...HELD, progress: { percent: 101 } }, 'VALIDATION_ERROR'),
  no('report_progress', { ...HELD, worker_id: 'w2', progress: {} }, 'LEASE_INVALID_OR_EXPIRED'),
  ok(
    'get_task_progress',
    { ...ALICE, task_id: '$full.task_id' },
    { progress: [{ percent: 50 }, { step: 2 }] },
  ),
  no('get_task_progress', { ...ALICE, task_id: '$full.task_id', limit: 0 }, 'VALIDATION_ERROR'),
  no('get_task_progress', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),

  ok(
    'append_logs',
    { ...HELD, lines: [{ text: 'one' }, { level: 'error', text: 'two', context: { a: 1 } }] },
    { ok: true, accepted: 2, dropped: 0 },
  ),
  no('append_logs', { ...HELD, lines: [] }, 'VALIDATION_ERROR'),
  no('append_logs', { ...HELD, lines: [{ level: 'loud', text: 'x' }] }, 'VALIDATION_ERROR'),
  no('append_logs', { ...HELD, worker_id: 'w2', lines: [{ text: 'x' }] }, 'LEASE_INVALID_OR_EXPIRED'),
  ok(
    'list_logs',
    { ...ALICE, task_id: '$full.task_id' },
    {
      lines: [
        { level: 'info', text: 'one' },
        { level: 'error', text: 'two', context: { a: 1 } },
      ],
    },
  ),
  no('list_logs', { ...ALICE, task_id: '$full.task_id', cursor: 'x' }, 'VALIDATION_ERROR'),
  no('list_logs', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),

  { seconds: 10 },
  ok('renew_lease', { ...HELD, extend_by_seconds: 500 }, { ok: true, expires_in_ms: 500_000 }),
  ok(
    'renew_many',
    { items: [HELD, { ...HELD, lease_id: NOWHERE }, { task_id: '$full.task_id' }] },
    { results: [{ ok: true }, { code: 'LEASE_INVALID_OR_EXPIRED' }, { code: 'VALIDATION_ERROR' }] },
  ),
  no(
    'renew_lease',
    { ...HELD, worker_instance_id: 'i2', extend_by_seconds: 60 },
    'LEASE_RENEWAL_LIMIT_EXCEEDED',
  ),
  no('renew_lease', { ...HELD, extend_by_seconds: 0 }, 'VALIDATION_ERROR'),
  no('renew_lease', { ...HELD, worker_id: 'w2' }, 'LEASE_INVALID_OR_EXPIRED'),
  no('renew_many', { ...W1, items: [] }, 'VALIDATION_ERROR'),
  no('renew_many', { items: 'all' }, 'VALIDATION_ERROR'),

  no('complete', HELD, 'VALIDATION_ERROR'),
  no('complete', { ...HELD, result: 1, artifacts: Array(101).fill('x') }, 'TOO_MANY_ARTIFACTS'),
  no('complete', { ...HELD, result: 'x'.repeat(5000) }, 'PAYLOAD_TOO_LARGE'),
  no('complete', { ...HELD, result: 1, artifacts: 'here' }, 'VALIDATION_ERROR'),
  no('complete', { ...HELD, lease_id: 'none', result: 1 }, 'LEASE_INVALID_OR_EXPIRED'),
  ok('complete', { ...HELD, result: RESULT, result_summary: 'done' }, { obligation_open: true }),
  ok('complete', { ...HELD, result: RESULT, artifacts: ARTIFACTS }, { obligation_open: false }, 'completed'),
  ok('complete', { ...HELD, result: RESULT, artifacts: ARTIFACTS }, { receipt_id: '$completed.receipt_id' }),
  no('complete', { ...HELD, result: 'other' }, 'RESULT_CONFLICT'),

  ok('create_tasks', { ...ALICE, tasks: [{ type: 'pair' }, { type: 'pair', max_attempts: 2 }] }),
  ok('lease_next', { ...W1, accept_types: ['pair'], max_tasks: 5 }, { tasks: [{}, {}] }, 'pair'),
  ok('fail', { ...SECOND, error: { message: 'no luck' }, retryable: true }, { requeued: true }),
  no('fail', { ...SECOND, error: { message: 'no luck' } }, 'LEASE_INVALID_OR_EXPIRED'),
  no('fail', { ...FIRST, error: 'no luck' }, 'VALIDATION_ERROR'),
  ok(
    'complete_many',
    {
      items: [
        { ...FIRST, result: null, delivery_proof: { mode: 'push', target: 'a' } },
        { ...SECOND, result: 1 },
        [],
      ],
    },
    {
      results: [
        { obligation_open: false },
        { code: 'LEASE_INVALID_OR_EXPIRED', details: { task_status: 'queued' } },
        { code: 'VALIDATION_ERROR' },
      ],
    },
  ),
  no('complete_many', { ...W1, items: [] }, 'VALIDATION_ERROR'),
  { seconds: 30 },
  ok('lease_next', { ...W1, accept_types: ['pair'] }, { tasks: [{ attempt: 1, fence: 2 }] }, 'again'),
  ok(
    'fail',
    { ...W1, task_id: '$again.tasks.0.task_id', lease_id: '$again.tasks.0.lease_id', error: { code: 'E' } },
    { requeued: false },
  ),

  ok('create_task', { ...ALICE, type: 'brief', timeout_seconds: 60 }),
  ok('lease_next', { ...W1, accept_types: ['brief'] }, { tasks: [{ timeout_seconds: 60 }] }, 'brief'),
  no('renew_lease', BRIEF, 'LEASE_LIFETIME_EXCEEDED'),
  ok('release_lease', BRIEF, { ok: true, status: 'queued' }),
  no('release_lease', BRIEF, 'LEASE_INVALID_OR_EXPIRED'),
  no('release_lease', { ...BRIEF, task_id: 'none' }, 'TASK_NOT_FOUND'),

  ok('create_task', { ...ALICE, type: 'off' }),
  ok('lease_next', { ...W1, accept_types: ['off'] }, { tasks: [{}] }, 'off'),
  no('report_cancel', { ...CALLED_OFF, stage: 'stopped' }, 'INVALID_STATE_TRANSITION'),
  ok('cancel_task', { ...ALICE, task_id: '$off.tasks.0.task_id', reason: 'called off' }, { ok: true }),
  ok('report_cancel', { ...CALLED_OFF, stage: 'acknowledged' }, { ok: true, stopped_at: null }, 'heard'),
  { seconds: 1 },
  ok(
    'report_cancel',
    { ...CALLED_OFF, stage: 'stopped' },
    { ok: true, acknowledged_at: '$heard.acknowledged_at' },
  ),
  no('report_cancel', { ...CALLED_OFF, worker_id: 'w2', stage: 'stopped' }, 'LEASE_INVALID_OR_EXPIRED'),
  no('report_cancel', { ...CALLED_OFF, stage: 'maybe' }, 'VALIDATION_ERROR'),
  ok(
    'get_task',
    { ...ALICE, task_id: '$off.tasks.0.task_id' },
    { cancellation: { reason: 'called off', acknowledged_at: '$heard.acknowledged_at' } },
  ),

  ok('lease_next', { ...W1, preferred_types: ['late'], accept_types: ['late'] }, { tasks: [] }),
  { seconds: 60 },
  ok('lease_next', { ...W1, accept_types: ['late'] }, { tasks: [{ type: 'late' }] }, 'lost'),
  { seconds: 121 },
  no('complete', { ...LOST, result: 1 }, 'LEASE_INVALID_OR_EXPIRED'),
  ok('get_task', { ...ALICE, task_id: '$lost.tasks.0.task_id' }, { status: 'queued', expiry_count: 1 }),
]
