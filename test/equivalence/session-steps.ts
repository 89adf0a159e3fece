import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const BOBS = { session_id: 'bobs' }
const ALICES = { session_id: 'alices' }

/** Client sessions with the gateway: their clients can list and end them, and admins can change them. */
export const sessionSteps: readonly Step[] = [
  ok('list_sessions', BOB, { sessions: [{ ...BOBS, principal: 'agent:bob', workers: 3, waiting: 2 }] }),
  ok('list_sessions', ROOT, { sessions: [ALICES, BOBS], next_cursor: null }),
  ok('list_sessions', { ...ROOT, limit: 1 }, { sessions: [ALICES], next_cursor: 'alices' }),
  ok('list_sessions', { ...ROOT, limit: 1, cursor: 'alices' }, { sessions: [BOBS], next_cursor: null }),
  no('list_sessions', { ...ROOT, cursor: 'none' }, 'VALIDATION_ERROR'),
  no('list_sessions', { ...BOB, cursor: 'alices' }, 'VALIDATION_ERROR'),
  no('list_sessions', { ...BOB, limit: 0 }, 'VALIDATION_ERROR'),
  ok('get_session', { ...BOB, ...BOBS }, { client: { name: 'claude' }, state: 'live' }),
  no('get_session', { ...BOB, session_id: 'alices' }, 'SESSION_NOT_FOUND'),
  no('set_session', { ...BOB, principal_kind: 'agent', ...BOBS, workers: 9 }, 'FORBIDDEN'),
  no('set_session', { ...ROOT, ...BOBS, workers: 0 }, 'VALIDATION_ERROR'),
  no('set_session', { ...ROOT, session_id: 'none', workers: 9 }, 'SESSION_NOT_FOUND'),
  ok('set_session', { ...ROOT, ...BOBS, workers: 9 }, { ...BOBS, workers: 9, queue: 100 }),
  no('end_session', { ...BOB, session_id: 'alices' }, 'SESSION_NOT_FOUND'),
  no('end_session', { ...BOB, ...BOBS, mode: 'kill' }, 'VALIDATION_ERROR'),
  ok('end_session', { ...BOB, ...BOBS, mode: 'cancel' }, { ...BOBS, ended: true, canceled: 3 }),
  no('end_session', { ...BOB, ...BOBS }, 'SESSION_NOT_FOUND'),
]
