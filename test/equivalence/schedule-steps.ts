import { ALICE, ARTIFACTS, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const S1 = { worker_id: 'scheduler' }
const CLAIM = { ...S1, max_tasks: 5 }
const ID = '$plan.tasks.0.task_id'
const PLAN = { ...S1, task_id: ID, lease_id: '$plan.tasks.0.lease_id', schedule_id: ID }
// Alice has been served more often by then, so the first of the two tasks is Bob's.
const END = { ...S1, task_id: '$end.tasks.1.task_id', lease_id: '$end.tasks.1.lease_id', schedule_id: ID }
const THEIRS = { ...S1, task_id: '$end.tasks.0.task_id', lease_id: '$end.tasks.0.lease_id', schedule_id: ID }
const CREATED = { event: 'created', schedule: { name: 'nightly', mode: 'interval', interval_seconds: 60 } }
const STALE = { ...S1, schedule_id: ID, next_run_at: '2025-12-31T23:00:00.000Z' }

const RUN = { ...S1, schedule_id: ID, run_at: '$first.next_eligible_at' }
const EVERY_SECOND = { name: 'x', mode: 'interval', interval_seconds: 1, task_template: { type: 'tick' } }

/** A scheduler records a schedule, reports it as stale, and deletes it. */
export const scheduleSteps: readonly Step[] = [
  ok('create_task', { ...ALICE, type: 'schedule.create', payload: EVERY_SECOND }),
  // A task delayed by one second has the time of the first run.
  ok('create_task', { ...ALICE, type: 'delayed', delay_seconds: 1 }, {}, 'delayed'),
  ok('get_task', { ...ALICE, task_id: '$delayed.task_id' }, {}, 'first'),
  ok('lease_next', { ...CLAIM, accept_types: ['schedule.create'] }, { tasks: [{}] }, 'plan'),
  no('report_stale_schedule', STALE, 'SCHEDULE_NOT_FOUND'),
  ok('record_schedule', { ...PLAN, ...CREATED }, { ok: true }, 'planned'),
  ok('record_schedule', { ...PLAN, ...CREATED }, { receipt_id: '$planned.receipt_id' }),
  ok('run_schedule', RUN, { status: 'queued', is_duplicate: false }, 'run'),
  ok('run_schedule', RUN, { task_id: '$run.task_id', is_duplicate: true }),
  no('run_schedule', { ...RUN, worker_id: 'w1' }, 'FORBIDDEN'),
  no('run_schedule', { ...RUN, run_at: '2999-01-01T00:00:00.001Z' }, 'VALIDATION_ERROR'),
  no('run_schedule', { ...RUN, schedule_id: NOWHERE }, 'SCHEDULE_NOT_FOUND'),
  ok(
    'list_schedules',
    { ...ALICE },
    { schedules: [{ schedule_id: ID, when: 'every second', status: 'enabled', last_error: null }] },
  ),
  ok('list_schedules', { ...ROOT, created_by: 'bob' }, { schedules: [], next_cursor: null }),
  no('list_schedules', { ...ROOT, created_by: 'x:y' }, 'VALIDATION_ERROR'),
  ok('get_schedule', { ...ROOT, schedule_id: ID }, { task_template: { type: 'tick' } }),
  no('get_schedule', { ...BOB, schedule_id: ID }, 'SCHEDULE_NOT_FOUND'),
  ok('run_schedule_now', { ...ROOT, schedule_id: ID, idempotency_key: 'a' }, { status: 'queued' }, 'now'),
  ok(
    'run_schedule_now',
    { ...ALICE, schedule_id: ID, idempotency_key: 'a' },
    { task_id: '$now.task_id', is_duplicate: true },
  ),
  no('run_schedule_now', { ...BOB, schedule_id: ID, idempotency_key: 'a' }, 'SCHEDULE_NOT_FOUND'),
  ok('pause_schedule', { ...ROOT, schedule_id: ID }, { status: 'queued' }),
  no('pause_schedule', { ...BOB, schedule_id: ID }, 'SCHEDULE_NOT_FOUND'),
  ok('cancel_tasks', { ...ROOT, type: 'schedule.pause' }, { count: 1 }),
  ok('record_schedule', { ...PLAN, event: 'paused' }, { receipt_id: '$planned.receipt_id' }),
  ok('record_schedule', { ...PLAN, event: 'resumed' }, { receipt_id: '$planned.receipt_id' }),
  no('record_schedule', { ...PLAN, ...CREATED, schedule_id: NOWHERE }, 'VALIDATION_ERROR'),
  no('record_schedule', { ...PLAN, ...CREATED, lease_id: NOWHERE }, 'LEASE_INVALID_OR_EXPIRED'),
  no('record_schedule', { ...PLAN, ...CREATED, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  no('record_schedule', { ...PLAN, event: 'stopped' }, 'VALIDATION_ERROR'),
  no(
    'record_schedule',
    { ...PLAN, event: 'created', schedule: { x: 'x'.repeat(17_000) } },
    'PAYLOAD_TOO_LARGE',
  ),
  ok('complete', { ...S1, task_id: ID, lease_id: PLAN.lease_id, result: {}, artifacts: ARTIFACTS }),
  no('record_schedule', { ...PLAN, ...CREATED }, 'LEASE_INVALID_OR_EXPIRED'),

  ok('report_stale_schedule', { ...STALE, reason: 'QUOTA_EXCEEDED' }, { ok: true }, 'stale'),
  ok('report_stale_schedule', STALE, { receipt_id: '$stale.receipt_id' }),
  no('report_stale_schedule', { ...STALE, worker_id: 'w1' }, 'FORBIDDEN'),
  no('report_stale_schedule', { ...STALE, next_run_at: '2999-01-01T00:00:00Z' }, 'VALIDATION_ERROR'),
  no('report_stale_schedule', { ...STALE, next_run_at: 'yesterday' }, 'VALIDATION_ERROR'),
  no('report_stale_schedule', { ...STALE, schedule_id: 'none' }, 'SCHEDULE_NOT_FOUND'),
  ok(
    'list_receipts',
    { ...ALICE, task_id: ID, receipt_type: 'system.anomaly' },
    { receipts: [{ schedule_id: ID, body: { kind: 'stale_schedule' } }] },
  ),

  ok('check_terminator', { ...ALICE, receipt_id: '$planned.receipt_id' }, { has_terminator: false }),
  ok('create_task', { ...ALICE, type: 'schedule.delete' }),
  ok('create_task', { ...BOB, type: 'schedule.delete' }),
  ok('lease_next', { ...CLAIM, accept_types: ['schedule.delete'] }, { tasks: [{}, {}] }, 'end'),
  no('record_schedule', { ...THEIRS, event: 'deleted' }, 'FORBIDDEN'),
  no('record_schedule', { ...END, event: 'deleted', schedule_id: END.task_id }, 'SCHEDULE_NOT_FOUND'),
  ok('record_schedule', { ...END, event: 'deleted' }, { ok: true }, 'ended'),
  ok('record_schedule', { ...END, event: 'deleted' }, { receipt_id: '$ended.receipt_id' }),
  no('report_stale_schedule', { ...STALE, next_run_at: '2025-12-31T23:30:00Z' }, 'SCHEDULE_NOT_FOUND'),
  ok(
    'check_terminator',
    { ...ALICE, receipt_id: '$planned.receipt_id' },
    { has_terminator: true, terminator: { receipt_id: '$ended.receipt_id' } },
  ),
  ok('cancel_tasks', { ...ROOT, type: 'schedule.delete' }, { count: 2 }),
  ok('cancel_tasks', { ...ROOT, type: 'delayed' }, { count: 1 }),
  ok('cancel_tasks', { ...ROOT, type: 'tick' }, { count: 2 }),
]
