import { ALICE, NOWHERE } from './people.ts'
import { no, ok, type Step } from './step.ts'

/** Tasks that depend on others or are part of others. */
export const flowSteps: readonly Step[] = [
  ok('create_task', { ...ALICE, type: 'flow-first' }, { status: 'queued' }, 'flow_first'),
  ok(
    'create_task',
    {
      ...ALICE,
      type: 'flow-second',
      parent_task_id: '$flow_first.task_id',
      parent_policy: 'cancel',
      depends_on: [{ task_id: '$flow_first.task_id', on_failure: 'continue' }],
      depends_mode: 'any',
    },
    { status: 'queued' },
    'flow_second',
  ),
  no('create_task', { ...ALICE, type: 'x', depends_on: [{ task_id: NOWHERE }] }, 'TASK_NOT_FOUND'),
  no('create_task', { ...ALICE, type: 'x', depends_on: [] }, 'VALIDATION_ERROR'),
  ok(
    'get_task',
    { ...ALICE, task_id: '$flow_second.task_id' },
    { status: 'queued', waiting_for: { tasks: 1, mode: 'any' } },
  ),
  ok(
    'get_task',
    { ...ALICE, task_id: '$flow_first.task_id' },
    { children: { total: 1, done: 0, failed: 0 } },
  ),
  ok(
    'list_children',
    { ...ALICE, task_id: '$flow_first.task_id' },
    { children: [{ type: 'flow-second', status: 'queued' }], counts: { total: 1 } },
  ),
  no('list_children', { ...ALICE, task_id: '$flow_first.task_id', limit: 0 }, 'VALIDATION_ERROR'),
  no('list_children', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  ok(
    'get_task_tree',
    { ...ALICE, task_id: '$flow_first.task_id' },
    {
      tasks: [
        { type: 'flow-first', depth: 0 },
        { type: 'flow-second', depth: 1 },
      ],
      is_complete: true,
    },
  ),
  no('get_task_tree', { ...ALICE, task_id: '$flow_first.task_id', limit: 0 }, 'VALIDATION_ERROR'),
  no('get_task_tree', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  ok('cancel_task', { ...ALICE, task_id: '$flow_first.task_id' }, { ok: true }),
  { seconds: 1 },
  ok('get_task', { ...ALICE, task_id: '$flow_second.task_id' }, { status: 'canceled' }),
]
