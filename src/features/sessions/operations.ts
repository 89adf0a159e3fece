import { z } from 'zod'
import { ENDS, operation, READS, WRITES_ONCE } from '../define-operation.ts'
import {
  countedSessionShape,
  endedSessionShape,
  endSessionInput,
  listSessionsInput,
  sessionInput,
  sessionShape,
  setSessionInput,
} from './shape.ts'
import { endSession, getSession, listSessions, setSession } from './verbs.ts'

export const sessionOperations = [
  operation({
    name: 'list_sessions',
    title: 'List sessions',
    description:
      'The clients that call tools of upstreams: whose they are, how many of their calls are being made or wait, and their limits. Agents see their own, admins all.',
    input: listSessionsInput,
    output: z.object({ sessions: z.array(sessionShape).readonly() }),
    actor: 'agent',
    rest: { method: 'GET', path: '/v1/sessions' },
    effect: READS,
    call: listSessions,
  }),
  operation({
    name: 'get_session',
    title: 'Look at a session',
    description:
      'One client that calls tools of upstreams, as list_sessions shows it, and how many of its calls have each status.',
    input: sessionInput,
    output: countedSessionShape,
    actor: 'agent',
    rest: { method: 'GET', path: '/v1/sessions/{session_id}' },
    effect: READS,
    call: getSession,
  }),
  operation({
    name: 'set_session',
    title: 'Change the limits of a session',
    description:
      'For admins: how many calls of a session are made at once, and how many may be open. null goes back to what is configured. It holds for this client from now on, also when it comes back.',
    input: setSessionInput,
    output: sessionShape,
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/sessions/{session_id}' },
    effect: WRITES_ONCE,
    call: setSession,
  }),
  operation({
    name: 'end_session',
    title: 'End a session',
    description:
      'Ends a session at once. With mode cancel its calls are canceled, queued and running ones; those that wait for approval stay. With mode run they are still made. A client that calls again has a new session.',
    input: endSessionInput,
    output: endedSessionShape,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/sessions/{session_id}/end' },
    effect: ENDS,
    call: endSession,
  }),
] as const
