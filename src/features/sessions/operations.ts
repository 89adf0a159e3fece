import { z } from 'zod'
import { checkPermission, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { nextCursor } from '../input.ts'
import { optionalPage, pageOf } from '../page.ts'
import { type CreateAnswer, type CreateDeps, createTask } from '../tasks/create.ts'
import { ownerKey } from '../tasks/search/match.ts'
import { countTasks } from '../tasks/search/scan.ts'
import { searchFor } from '../tasks/search/search.ts'
import { notConfigured, type TenantUpstreams } from '../upstreams/upstreams.ts'
import {
  type Client,
  countedSessionShape,
  endedSessionShape,
  SESSION_ENDS,
  type Sessions,
  type SessionView,
  sessionId,
  sessionShape,
  setSessionInput,
} from './sessions.ts'
import { sessionListSummary } from './summary.ts'
import { readToolCall, TOOL_CALL } from './tool-calls.ts'

export const listSessions = defineOperation({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'The sessions of clients that call upstream tools: their principal, their calls in progress and waiting, and their limits. Agents see their own sessions, admins all. Repeat with next_cursor until it is null.',
  input: z.strictObject(optionalPage),
  output: z.object({
    sessions: z.array(sessionShape).readonly().describe('The sessions that you may see, oldest first'),
    next_cursor: nextCursor,
  }),
  summary: sessionListSummary,
  actor: 'agent',
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/sessions' },
  async run(services, caller, page) {
    const sessions = await sessionsOf(services, caller)
    const visible = sessions === undefined ? [] : await visibleSessions(services.engine, sessions, caller)
    // Each server lists its own sessions first, so the order must not depend on the server that responds.
    const sorted = visible.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
    const { items, next_cursor } = pageOf(sorted, ({ session_id }) => session_id, page)
    return { sessions: items, next_cursor }
  },
})

export const getSession = defineOperation({
  name: 'get_session',
  title: 'Get a session',
  description:
    'One session of a client that calls upstream tools, as in list_sessions, with the number of its calls in each status.',
  input: z.strictObject({ session_id: sessionId }),
  output: countedSessionShape,
  actor: 'agent',
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/sessions/{session_id}' },
  async run(services, caller, { session_id }) {
    const { engine } = services
    const sessions = await foundSessions(services, caller, session_id)
    const session = await findSession(engine, sessions, caller, session_id)
    const { tenant } = await engine.tenant(caller.tenant)
    // Tasks of other principals may have the same session_id.
    const filter = { session_id, created_by: ownerKey(session.principal) }
    return { ...session, counts: await countTasks(engine, tenant, searchFor(filter, 0)) }
  },
})

export const setSession = defineOperation({
  name: 'set_session',
  title: 'Change the limits of a session',
  description:
    'For admins: how many calls of a session run concurrently, and how many may be open. null restores the configured limit. The limits apply to this client from now on, also when it reconnects.',
  input: setSessionInput,
  output: sessionShape,
  access: 'operate',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/sessions/{session_id}' },
  effect: WRITES_ONCE,
  async run(services, caller, change) {
    const sessions = await foundSessions(services, caller, change.session_id)
    const changed = await services.engine.writing(() => sessions.set(change))
    if (changed === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id: change.session_id })
    return changed
  },
})

export const endSession = defineOperation({
  name: 'end_session',
  title: 'End a session',
  description:
    'Ends a session. With mode cancel its queued and running calls are canceled; calls that wait for approval stay. With mode run its calls are completed. A client that calls again gets a new session.',
  input: z.strictObject({
    session_id: sessionId,
    mode: z
      .enum(SESSION_ENDS)
      .optional()
      .describe('run: its calls are completed; cancel: they are canceled. As configured if absent'),
  }),
  output: endedSessionShape,
  actor: 'agent',
  access: 'cancel',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/sessions/{session_id}/end' },
  effect: ENDS,
  async run(services, caller, { session_id, mode }) {
    const sessions = await foundSessions(services, caller, session_id)
    await findSession(services.engine, sessions, caller, session_id)
    const ended = await sessions.end(session_id, mode)
    if (ended === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id })
    return ended
  },
})

const orderOf = ({ began_at, session_id }: SessionView) => `${began_at} ${session_id}`

/** The sessions of the tenant of the caller; undefined if it has no upstreams, and so no sessions. */
async function sessionsOf(
  { engine, toolCalls, upstreams }: Deps,
  caller: Caller,
): Promise<Sessions | undefined> {
  const { tenant } = await engine.tenant(caller.tenant)
  const sessions = toolCalls.sessions.get(tenant)
  if (sessions === undefined && upstreams === undefined) throw notConfigured()
  return sessions
}

async function foundSessions(deps: Deps, caller: Caller, session_id: string): Promise<Sessions> {
  const sessions = await sessionsOf(deps, caller)
  if (sessions === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id })
  return sessions
}

async function findSession(
  engine: Engine,
  sessions: Sessions,
  caller: Caller,
  session_id: string,
): Promise<SessionView> {
  const visible = await visibleSessions(engine, sessions, caller)
  const found = visible.find((session) => session.session_id === session_id)
  if (found === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id })
  return found
}

/** Agents see their own sessions only. */
async function visibleSessions(
  engine: Engine,
  sessions: Sessions,
  caller: Caller,
): Promise<readonly SessionView[]> {
  const all = await engine.reading(() => sessions.list())
  if (seesAll(caller.role)) return all
  const self = principalKey(caller.principal)
  return all.filter(({ principal }) => principal === self)
}

interface Deps {
  readonly engine: Engine
  readonly upstreams: TenantUpstreams | undefined
  readonly toolCalls: { readonly sessions: ReadonlyMap<number, Sessions> }
}

/** Creates the task of a tool call in the session of its client. A key that was used before returns the earlier task. */
export async function callTool(
  deps: Omit<CreateDeps, 'toolCalls'> & Deps,
  caller: Caller,
  call: unknown,
  client: Client,
  key?: string,
): Promise<CreateAnswer> {
  await deps.rateLimits.count(caller, 'call_tool')
  checkPermission(caller, 'create')
  const { engine, toolCalls, upstreams } = deps
  const { upstream, tool, arguments: args } = readToolCall(call)
  const tenant = await engine.tenant(caller.tenant)
  const sessions = toolCalls.sessions.get(tenant.tenant)
  if (sessions === undefined) {
    throw upstreams === undefined ? notConfigured() : new Fault('UPSTREAM_NOT_FOUND', { name: upstream })
  }
  const admission = sessions.admit(caller, client)
  const input = {
    type: TOOL_CALL,
    payload: { upstream, tool, arguments: args },
    session_id: admission.session_id,
    ...(key !== undefined && { idempotency_key: key }),
  }
  try {
    const created = await createTask(deps, tenant, caller, input, { lane: admission.sessionLane })
    // The earlier task may have ended already, and its end would not be reported again.
    if (created.is_duplicate) admission.dropped()
    else admission.created(created.task_id)
    return created
  } catch (error) {
    admission.dropped()
    throw error
  }
}

/** A client has disconnected: its sessions end as configured. */
export async function clientLeft(
  { engine, toolCalls }: Pick<Deps, 'engine' | 'toolCalls'>,
  tenantName: string,
  instance: string,
  principal: PrincipalKey | undefined,
): Promise<void> {
  const { tenant } = await engine.tenant(tenantName)
  toolCalls.sessions.get(tenant)?.left(instance, principal)
}
