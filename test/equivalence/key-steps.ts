import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const PLANNER = { principal: { kind: 'agent', id: 'planner' }, role: 'agent' }

/** An admin creates a key, rotates it and ends it. */
export const keySteps: readonly Step[] = [
  ok('create_key', { ...ROOT, ...PLANNER }, { ...PLANNER, state: 'active', created_by: 'human:root' }, 'key'),
  no('create_key', { ...BOB, ...PLANNER }, 'FORBIDDEN'),
  no('create_key', { ...ROOT, ...PLANNER, role: 'worker' }, 'VALIDATION_ERROR'),
  ok('list_keys', ROOT, { keys: [PLANNER], next_cursor: null }),
  no('list_keys', BOB, 'FORBIDDEN'),
  ok('get_key', { ...ROOT, key_id: '$key.key_id' }, { replaced_by: null, last_used_at: null }),
  no('get_key', { ...ROOT, key_id: 'none' }, 'KEY_NOT_FOUND'),
  ok('rotate_key', { ...ROOT, key_id: '$key.key_id', overlap_seconds: 60 }, PLANNER, 'next'),
  no('rotate_key', { ...ROOT, key_id: 'none' }, 'KEY_NOT_FOUND'),
  ok('get_key', { ...ROOT, key_id: '$key.key_id' }, { replaced_by: '$next.key_id' }),
  ok('revoke_key', { ...ROOT, key_id: '$key.key_id' }, { state: 'revoked', revoked_by: 'human:root' }),
  no('revoke_key', { ...ROOT, key_id: 'none' }, 'KEY_NOT_FOUND'),
  no('rotate_key', { ...ROOT, key_id: '$key.key_id' }, 'KEY_NOT_ACTIVE'),
]
