import { ALICE, BOB, NOWHERE } from './people.ts'
import { no, ok, type Step } from './step.ts'

/** Salts and signatures are random, so the rest of these responses is not compared. */
export const ledgerLogSteps: readonly Step[] = [
  ok('get_receipt_proof', { ...ALICE, receipt_id: '$full.receipt_id' }, { receipt_id: '$full.receipt_id' }),
  no('get_receipt_proof', { ...ALICE, receipt_id: NOWHERE }, 'RECEIPT_NOT_FOUND'),
  no('get_receipt_proof', { principal_id: 'carol', receipt_id: '$full.receipt_id' }, 'FORBIDDEN'),
  ok('get_checkpoint', BOB, { consistency: null }),
  ok('get_checkpoint', { ...BOB, from_size: 0 }, { consistency: [] }),
  no('get_checkpoint', { ...BOB, from_size: -1 }, 'VALIDATION_ERROR'),
]
