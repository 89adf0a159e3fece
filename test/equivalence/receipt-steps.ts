import { ALICE, BOB, NOWHERE, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const FULL = { task_id: '$full.task_id' }

/** Obligations, receipts and the health of the server. */
export const receiptSteps: readonly Step[] = [
  ok('list_open_obligations', { ...ALICE, limit: 1 }, { open_obligations: [{}] }, 'owed'),
  ok('list_open_obligations', { ...ALICE, since_receipt_id: '$owed.cursor' }, { cursor: null }),
  no('list_open_obligations', { ...ALICE, since_receipt_id: NOWHERE }, 'VALIDATION_ERROR'),

  ok(
    'bootstrap',
    { agent_id: 'alice', agent_instance_id: 'i1' },
    { relationship: { sessions_count: 1 } },
    'inbox',
  ),
  ok(
    'bootstrap',
    { ...ALICE, agent_instance_id: 'i2', max_items: 2 },
    { relationship: { sessions_count: 2 } },
  ),
  ok('bootstrap', { ...ALICE, since_receipt_id: '$inbox.cursor.latest_receipt_id' }),
  no('bootstrap', { ...ALICE, max_items: 201 }, 'VALIDATION_ERROR'),
  no('bootstrap', { ...ALICE, since_receipt_id: 'none' }, 'VALIDATION_ERROR'),

  ok(
    'list_receipts',
    { ...ALICE, ...FULL, limit: 2 },
    { receipts: [{ receipt_type: 'task.assigned' }, {}] },
    'chain',
  ),
  ok('list_receipts', { ...ROOT, ...FULL, since_receipt_id: '$chain.next_cursor' }, { next_cursor: null }),
  ok(
    'list_receipts',
    { ...ALICE, to_kind: 'agent', to_id: 'alice', receipt_type: 'lease.expired' },
    {},
    'expired',
  ),
  no('list_receipts', { ...BOB, to_id: 'alice' }, 'FORBIDDEN'),
  no('list_receipts', { ...BOB, to_kind: 'agent' }, 'VALIDATION_ERROR'),
  no('list_receipts', { ...BOB, task_id: 'none' }, 'TASK_NOT_FOUND'),

  ok('list_receipts_ledger', { ...ALICE, ...FULL }, { next_cursor: null }),
  ok('list_receipts_ledger', { ...ROOT, status: 'canceled', limit: 1 }, { receipts: [{}] }),
  no('list_receipts_ledger', ALICE, 'VALIDATION_ERROR'),
  no('list_receipts_ledger', { ...ALICE, status: 'lost' }, 'VALIDATION_ERROR'),

  ok('get_receipt', { ...ALICE, receipt_id: '$full.receipt_id' }, { receipt_type: 'task.assigned' }),
  no('get_receipt', { ...ALICE, receipt_id: NOWHERE }, 'RECEIPT_NOT_FOUND'),
  no('get_receipt', { ...ALICE, receipt_id: 'x'.repeat(65) }, 'VALIDATION_ERROR'),
  no('get_receipt', { principal_id: 'carol', receipt_id: '$full.receipt_id' }, 'FORBIDDEN'),

  ok(
    'check_terminator',
    { ...ALICE, receipt_id: '$full.receipt_id' },
    { has_terminator: true, terminator: { receipt_id: '$completed.receipt_id' } },
  ),
  ok('check_terminator', { ...BOB, receipt_id: '$bobs.receipt_id' }, { has_terminator: false }),
  no('check_terminator', { ...ALICE, receipt_id: NOWHERE }, 'RECEIPT_NOT_FOUND'),

  ok('ack_receipt', { ...ALICE, receipt_id: '$expired.receipts.0.receipt_id' }, { ok: true }, 'acked'),
  ok(
    'ack_receipt',
    { ...ALICE, receipt_id: '$expired.receipts.0.receipt_id' },
    { receipt_id: '$acked.receipt_id' },
  ),
  no('ack_receipt', { ...BOB, receipt_id: '$full.receipt_id' }, 'FORBIDDEN'),
  no('ack_receipt', { ...ALICE, receipt_id: NOWHERE }, 'RECEIPT_NOT_FOUND'),

  ok('get_config', {}, { receipt_mode: 'standalone' }),
  no('get_config', { colour: 'red' }, 'VALIDATION_ERROR'),
  ok('health', {}, { status: 'healthy' }),
]
