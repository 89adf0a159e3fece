import { checkRole, forbidden, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { type CreateAnswer, createTask } from '../tasks/create.ts'
import { countFitting } from '../tasks/task-search.ts'
import type { UpstreamTool } from '../upstreams/upstreams.ts'
import type { Client, Sessions } from './sessions.ts'
import {
  type CountedSession,
  type EndedSession,
  endSessionInput,
  listSessionsInput,
  type SessionView,
  sessionInput,
  setSessionInput,
} from './shape.ts'
import { readToolCall, TOOL_CALL } from './tool-calls.ts'

const NO_TOOLS: readonly UpstreamTool[] = []

/** The tools of upstreams that a tenant may call. The same list as long as they are the same. */
export async function upstreamTools(engine: Services, tenant: string): Promise<readonly UpstreamTool[]> {
  const { upstreams } = engine
  if (upstreams === undefined) return NO_TOOLS
  return (await engine.tenant(tenant)).tenant === upstreams.tenant ? upstreams.tools() : NO_TOOLS
}

/** Calls back when the tools of upstreams, or those of them that are blocked, are others. Returns the way to stop. */
export function onUpstreamTools({ upstreams, blockedTools }: Services, listener: () => void): () => void {
  const stops = [upstreams?.onTools(listener), blockedTools.onChange(listener)]
  return () => {
    for (const stop of stops) stop?.()
  }
}

/** Why a tenant cannot call a tool of this name; undefined if it is not that of an upstream's tool. */
export async function absentTool(engine: Services, tenant: string, name: string): Promise<Fault | undefined> {
  const { upstreams } = engine
  if (upstreams === undefined || (await engine.tenant(tenant)).tenant !== upstreams.tenant) return undefined
  return upstreams.absence(name)
}

/** A call of a tool by a client, as a task of its session. With a key that it has used before it is the task of then. */
export async function callTool(
  engine: Services,
  caller: Caller,
  call: unknown,
  client: Client,
  key?: string,
): Promise<CreateAnswer> {
  checkRole(caller, 'create')
  const { upstream, tool, arguments: args } = readToolCall(call)
  const tenant = await engine.tenant(caller.tenant)
  const admission = sessionsOf(engine, tenant.tenant).admit(caller, client)
  const input = {
    type: TOOL_CALL,
    payload: { upstream, tool, arguments: args },
    session_id: admission.session_id,
    ...(key !== undefined && { idempotency_key: key }),
  }
  try {
    const created = await createTask(engine, tenant, caller, input, { lane: admission.seat })
    // A task of before may have ended by now, and nobody would say so again.
    if (created.is_duplicate) admission.dropped()
    else admission.created(created.task_id)
    return created
  } catch (error) {
    admission.dropped()
    throw error
  }
}

/** A client has gone. Its sessions end as is configured. */
export async function clientLeft(
  engine: Services,
  tenant: string,
  instance: string,
  principal: PrincipalKey | undefined,
): Promise<void> {
  const { sessions } = engine.toolCalls
  const { tenant: number } = await engine.tenant(tenant)
  if (sessions?.tenant === number) sessions.left(instance, principal)
}

export async function listSessions(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ readonly sessions: readonly SessionView[] }> {
  checkRole(caller, 'list')
  parse(listSessionsInput, input)
  return { sessions: await visible(engine, caller) }
}

/** With how its calls are; only those of its principal count. */
export async function getSession(engine: Services, caller: Caller, input: unknown): Promise<CountedSession> {
  checkRole(caller, 'list')
  const { session_id } = parse(sessionInput, input)
  const session = await find(engine, caller, session_id)
  const { tenant } = await engine.tenant(caller.tenant)
  const filter = { session_id, created_by: session.principal }
  return { ...session, counts: await countFitting(engine, tenant, filter) }
}

export async function setSession(engine: Services, caller: Caller, input: unknown): Promise<SessionView> {
  checkRole(caller, 'manage')
  const change = parse(setSessionInput, input)
  const sessions = await theirs(engine, caller)
  const changed = await engine.writing(() => sessions.set(change))
  if (changed === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id: change.session_id })
  return changed
}

export async function endSession(engine: Services, caller: Caller, input: unknown): Promise<EndedSession> {
  checkRole(caller, 'cancel')
  const { session_id, mode } = parse(endSessionInput, input)
  const { principal } = await find(engine, caller, session_id)
  if (!seesAll(caller.role) && principal !== principalKey(caller.principal)) {
    throw forbidden('admin', caller.role)
  }
  const ended = await (await theirs(engine, caller)).end(session_id, mode)
  if (ended === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id })
  return ended
}

async function find(engine: Services, caller: Caller, session_id: string): Promise<SessionView> {
  const found = (await visible(engine, caller)).find((session) => session.session_id === session_id)
  if (found === undefined) throw new Fault('SESSION_NOT_FOUND', { session_id })
  return found
}

/** Agents see their own. */
async function visible(engine: Services, caller: Caller): Promise<readonly SessionView[]> {
  const sessions = await theirs(engine, caller)
  const all = await engine.reading(() => sessions.list())
  if (seesAll(caller.role)) return all
  const self = principalKey(caller.principal)
  return all.filter(({ principal }) => principal === self)
}

async function theirs(engine: Services, caller: Caller): Promise<Sessions> {
  return sessionsOf(engine, (await engine.tenant(caller.tenant)).tenant)
}

function sessionsOf({ toolCalls: { sessions } }: Services, tenant: number): Sessions {
  if (sessions === undefined || sessions.tenant !== tenant) {
    throw new Fault('NOT_CONFIGURED', { feature: 'upstreams', settings: ['ASYNCGATE_UPSTREAMS_FILE'] })
  }
  return sessions
}
