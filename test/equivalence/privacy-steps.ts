import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const CAROL = { kind: 'human', id: 'carol' }

/** An admin erases a principal that has no data. */
export const privacySteps: readonly Step[] = [
  no('get_erasure', { ...ROOT, ...CAROL }, 'ERASURE_NOT_FOUND'),
  ok('erase_principal', { ...ROOT, ...CAROL }, { principal: 'human:carol', requested_by: 'human:root' }),
  ok(
    'get_erasure',
    { ...ROOT, ...CAROL, wait_seconds: 50 },
    { state: 'done', keys: 0, tasks: 0, receipts: 0 },
  ),
  no('erase_principal', { ...BOB, ...CAROL }, 'FORBIDDEN'),
  no('erase_principal', { ...ROOT, kind: 'human', id: 'root' }, 'FORBIDDEN'),
  no('erase_principal', { ...ROOT, kind: 'service', id: 'asyncgate' }, 'FORBIDDEN'),
  no('erase_principal', { ...ROOT, kind: 'robot', id: 'x' }, 'VALIDATION_ERROR'),
  no('get_erasure', { ...BOB, ...CAROL }, 'FORBIDDEN'),
  ok('export_principal', { ...ROOT, ...CAROL }, { records: [], next_cursor: 'identity:' }),
  no('export_principal', { ...ROOT, ...CAROL, cursor: 'x' }, 'VALIDATION_ERROR'),
  no('export_principal', { ...BOB, ...CAROL }, 'FORBIDDEN'),
]
