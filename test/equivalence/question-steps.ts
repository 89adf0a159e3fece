import { ALICE, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const W1 = { worker_id: 'w1' }
const PAUL = { principal_kind: 'human', principal_id: 'paul' }
const leaseOf = (name: string) => ({
  ...W1,
  task_id: `$${name}.tasks.0.task_id`,
  lease_id: `$${name}.tasks.0.lease_id`,
})
const TAKE = { ...W1, accept_types: ['delicate'] }
const DELICATE = { task_id: '$delicate.task_id' }
const OTHER = { task_id: '$other.task_id' }
const WORK = { payload: { path: '/a' }, body: 'Delete it.', inputs: { depth: 2 } }
const APPROVAL = { kind: 'approval', request: { title: 'Delete it all?', show: { files: 3 } } }
const SCHEMA = { type: 'object', properties: { colour: { enum: ['red', 'blue'] } }, required: ['colour'] }
const INPUT = { kind: 'input', request: { message: 'Which colour?', schema: SCHEMA } }

/** Workers ask, people decide, agents answer. */
export const questionSteps: readonly Step[] = [
  ok('create_task', { ...ALICE, type: 'delicate', ...WORK }, {}, 'delicate'),
  ok('lease_next', TAKE, { tasks: [DELICATE] }, 'first'),
  no('ask', { ...leaseOf('first'), kind: 'approval', request: {} }, 'VALIDATION_ERROR'),
  no('ask', { ...leaseOf('first'), ...APPROVAL, lease_id: NOWHERE }, 'LEASE_INVALID_OR_EXPIRED'),
  ok(
    'ask',
    { ...leaseOf('first'), ...APPROVAL },
    { n: 1, status: 'pending_approval', expires_at: null },
    'asked',
  ),
  ok('ask', { ...leaseOf('first'), ...APPROVAL }, { n: 1, receipt_id: '$asked.receipt_id' }),
  no('complete', { ...leaseOf('first'), result: 1 }, 'LEASE_INVALID_OR_EXPIRED'),
  ok('lease_next', TAKE, { tasks: [] }),
  ok(
    'get_task',
    { ...ALICE, ...DELICATE },
    {
      status: 'pending_approval',
      question: { n: 1, kind: 'approval', asked_by: { kind: 'worker', id: 'w1' } },
    },
  ),
  ok(
    'wait_for_task',
    { ...ALICE, ...DELICATE, wait_seconds: 30 },
    { done: false, status: 'pending_approval' },
  ),

  ok('list_approvals', PAUL, { approvals: [{ ...DELICATE, n: 1, state: 'open' }], next_cursor: null }),
  ok('list_approvals', { ...BOB, state: 'all' }, { approvals: [] }),
  ok('list_approvals', { ...ALICE, type: 'delicate', limit: 1 }, { approvals: [DELICATE] }),
  no('list_approvals', { ...PAUL, state: 'pondered' }, 'VALIDATION_ERROR'),
  ok(
    'get_approval',
    { ...PAUL, ...DELICATE },
    { n: 1, task: { type: 'delicate', payload: { path: '/a' }, body: 'Delete it.', inputs: { depth: 2 } } },
    'seen',
  ),
  no('get_approval', { ...PAUL, ...DELICATE, n: 2 }, 'QUESTION_NOT_FOUND'),
  no('get_approval', { ...BOB, ...DELICATE }, 'FORBIDDEN'),

  no('approve', { ...ALICE, ...DELICATE }, 'FORBIDDEN'),
  no('approve', { ...PAUL, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  no('approve', { ...PAUL, ...DELICATE, remember_until: 'Friday' }, 'VALIDATION_ERROR'),
  no('approve', { ...PAUL, ...DELICATE, content_hash: 'sha256:0' }, 'CONTENT_CHANGED'),
  no('deny', { ...PAUL, ...DELICATE, content_hash: 'sha256:0', reason: 'no' }, 'CONTENT_CHANGED'),
  { seconds: 3600 },
  ok(
    'approve',
    {
      ...PAUL,
      ...DELICATE,
      content_hash: '$seen.content_hash',
      comment: 'half of it',
      payload: { path: '/a/b' },
    },
    { state: 'approved', status: 'queued', decided_by: { kind: 'human', id: 'paul' } },
    'yes',
  ),
  ok(
    'approve',
    { ...PAUL, ...DELICATE, n: 1, comment: 'half of it', payload: { path: '/a/b' } },
    { receipt_id: '$yes.receipt_id', is_duplicate: true },
  ),
  no('deny', { ...ROOT, ...DELICATE, reason: 'no' }, 'ALREADY_DECIDED'),
  ok(
    'get_approval',
    { ...PAUL, ...DELICATE },
    { diff: [{ path: '/path', before: '/a', after: '/a/b' }] },
    'approved',
  ),
  ok(
    'lease_next',
    TAKE,
    {
      tasks: [
        {
          payload: { path: '/a/b' },
          answers: [
            {
              n: 1,
              state: 'approved',
              answer: { comment: 'half of it' },
              content_hash: '$approved.content_hash',
            },
          ],
        },
      ],
    },
    'second',
  ),

  ok('ask', { ...leaseOf('second'), ...INPUT, expires_in_seconds: 60 }, { n: 2, status: 'input_required' }),
  no('answer_question', { ...BOB, ...DELICATE, content: { colour: 'red' } }, 'FORBIDDEN'),
  no('answer_question', { ...ALICE, ...DELICATE, content: { colour: 'green' } }, 'VALIDATION_ERROR'),
  no('approve', { ...PAUL, ...DELICATE }, 'INVALID_STATE_TRANSITION'),
  ok('answer_question', { ...ALICE, ...DELICATE, content: { colour: 'red' } }, { n: 2, state: 'answered' }),
  no('answer_question', { ...ALICE, ...DELICATE, content: { colour: 'blue' } }, 'ALREADY_DECIDED'),
  ok(
    'lease_next',
    TAKE,
    { tasks: [{ answers: [{ n: 1 }, { n: 2, answer: { content: { colour: 'red' } } }] }] },
    'third',
  ),
  ok('complete', { ...leaseOf('third'), result: 1, artifacts: ['x'] }),

  ok('create_task', { ...ALICE, type: 'delicate' }, {}, 'other'),
  ok('lease_next', TAKE, { tasks: [OTHER] }, 'fourth'),
  ok('ask', { ...leaseOf('fourth'), ...APPROVAL }),
  no('deny', { ...ROOT, ...OTHER }, 'VALIDATION_ERROR'),
  ok('deny', { ...ROOT, ...OTHER, reason: 'not today' }, { state: 'denied', status: 'canceled' }),
  ok(
    'get_task',
    { ...ALICE, ...OTHER },
    { result: { error: { code: 'APPROVAL_DENIED', message: 'not today' } } },
  ),

  ok('create_task', { ...ALICE, type: 'delicate' }, {}, 'forgotten'),
  ok('lease_next', TAKE, { tasks: [{}] }, 'fifth'),
  ok('ask', { ...leaseOf('fifth'), ...INPUT, expires_in_seconds: 60 }),
  { seconds: 60 },
  ok(
    'get_task',
    { ...ALICE, task_id: '$forgotten.task_id' },
    { status: 'failed', result: { error: { code: 'INPUT_EXPIRED' } } },
  ),
]
