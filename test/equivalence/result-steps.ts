import { ALICE, BOB, NOWHERE } from './people.ts'
import { no, ok, type Step } from './step.ts'

const BIG = { ...ALICE, task_id: '$big.task_id' }
const HELD = { worker_id: 'w1', task_id: '$carried.tasks.0.task_id', lease_id: '$carried.tasks.0.lease_id' }
const RESULT = 'é'.repeat(2200)

/** A result that is too large for its task is stored in a channel, fetched as a whole and in pages, and archived. */
export const resultSteps: readonly Step[] = [
  ok('create_task', { ...ALICE, type: 'big' }, {}, 'big'),
  no('fetch_task_result', BIG, 'RESULT_NOT_FOUND'),
  no('archive_task_result', BIG, 'INVALID_STATE_TRANSITION'),
  ok('lease_next', { worker_id: 'w1', accept_types: ['big'] }, { tasks: [{}] }, 'carried'),
  ok('complete', { ...HELD, result: RESULT }, { obligation_open: false }, 'put away'),
  ok('complete', { ...HELD, result: RESULT }, { obligation_open: false }),
  no('complete', { ...HELD, result: `${RESULT}é` }, 'RESULT_CONFLICT'),
  ok('get_task', BIG, {
    result: {
      result: { channel: 'blob', size: 4402 },
      how_to_retrieve: { operation: 'fetch_task_result', task_id: '$big.task_id' },
    },
  }),
  ok('fetch_task_result', BIG, {
    content: RESULT,
    encoding: 'json',
    checksum_valid: true,
    next_offset: null,
  }),
  ok(
    'fetch_task_result',
    { ...BIG, offset: 1, length: 5 },
    { content: 'éé', encoding: 'text', checksum_valid: null, next_offset: 5 },
  ),
  ok('fetch_task_result', { ...BIG, artifact: 0, offset: 4401 }, { content: '"', next_offset: null }),
  no('fetch_task_result', { ...BIG, artifact: 1 }, 'VALIDATION_ERROR'),
  no('fetch_task_result', { ...BIG, length: 3 }, 'VALIDATION_ERROR'),
  no('fetch_task_result', { ...BOB, task_id: '$big.task_id' }, 'FORBIDDEN'),
  no('fetch_task_result', { ...ALICE, task_id: NOWHERE }, 'TASK_NOT_FOUND'),
  no('promote_task_result', { ...BOB, task_id: '$big.task_id' }, 'FORBIDDEN'),
  ok('promote_task_result', BIG, { memory_id: 'm1', is_archived: true, is_purged: false }),
  ok('archive_task_result', BIG, { ok: true, archived: 1, result_removed: true }),
  ok('archive_task_result', BIG, { ok: true, archived: 1 }),
  no('fetch_task_result', BIG, 'RESULT_NOT_FOUND'),
  no('archive_task_result', { ...BOB, task_id: '$big.task_id' }, 'FORBIDDEN'),
]
