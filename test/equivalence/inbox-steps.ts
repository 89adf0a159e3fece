import { ALICE, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

/** Inbox items and their marks. */
export const inboxSteps: readonly Step[] = [
  ok('list_inbox', { ...ALICE, limit: 2 }, { items: [{}, {}] }, 'letters'),
  ok('list_inbox', { ...ALICE, limit: 2, cursor: '$letters.next_cursor' }, { items: [{}, {}] }),
  ok('list_inbox', { ...ALICE, order: 'newest', limit: 1 }, { items: [{ state: 'delivered' }] }),
  ok('list_inbox', { agent_id: 'carol' }, { items: [], next_cursor: null }),
  no('list_inbox', { ...BOB, cursor: '$letters.next_cursor' }, 'VALIDATION_ERROR'),
  no('list_inbox', { ...ALICE, state: 'lost' }, 'VALIDATION_ERROR'),

  ok(
    'mark_inbox',
    { ...ALICE, as: 'read', receipt_ids: ['$letters.items.0.receipt_id'] },
    { items: [{ state: 'read' }] },
  ),
  ok('list_inbox', { ...ALICE, state: 'read' }, { items: [{ receipt_id: '$letters.items.0.receipt_id' }] }),
  ok('mark_inbox', { ...ALICE, as: 'promoted', task_ids: ['$full.task_id'] }),
  ok('mark_inbox', { ...ROOT, as: 'archived', receipt_ids: ['$letters.items.1.receipt_id'] }),
  ok('mark_inbox', { ...ALICE, as: 'archived', receipt_ids: ['$letters.items.1.receipt_id'] }),
  no('mark_inbox', { ...BOB, as: 'read', receipt_ids: ['$letters.items.0.receipt_id'] }, 'FORBIDDEN'),
  no('mark_inbox', { ...ALICE, as: 'read', receipt_ids: ['$full.receipt_id'] }, 'RECEIPT_NOT_FOUND'),
  no('mark_inbox', { ...ALICE, as: 'read', task_ids: [NOWHERE] }, 'RECEIPT_NOT_FOUND'),
  no('mark_inbox', { ...ALICE, as: 'read', task_ids: ['none'] }, 'TASK_NOT_FOUND'),
  no('mark_inbox', { ...ALICE, as: 'read' }, 'VALIDATION_ERROR'),

  ok('inbox_stats', { ...ALICE, days: 30 }, { days: 30, is_complete: true }),
  ok('inbox_stats', { agent_id: 'carol' }, { items: 0, promotion_rate: null }),
  no('inbox_stats', { ...ALICE, days: 0 }, 'VALIDATION_ERROR'),
]
