import { checkRole } from '../../core/authorization.ts'
import type { Caller, PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { type CreateAnswer, type CreateDeps, createTask } from '../tasks/create.ts'
import { type Client, type Sessions, sessionsOf } from './sessions.ts'
import { readToolCall, TOOL_CALL } from './tool-calls.ts'

interface Deps {
  readonly engine: Engine
  readonly toolCalls: { readonly sessions: Sessions | undefined }
}

/** Creates the task of a tool call in the session of its client. A key that was used before returns the earlier task. */
export async function callTool(
  deps: CreateDeps & Deps,
  caller: Caller,
  call: unknown,
  client: Client,
  key?: string,
): Promise<CreateAnswer> {
  checkRole(caller, 'create')
  const { engine, toolCalls } = deps
  const { upstream, tool, arguments: args } = readToolCall(call)
  const tenant = await engine.tenant(caller.tenant)
  const admission = sessionsOf(toolCalls.sessions, tenant.tenant).admit(caller, client)
  const input = {
    type: TOOL_CALL,
    payload: { upstream, tool, arguments: args },
    session_id: admission.session_id,
    ...(key !== undefined && { idempotency_key: key }),
  }
  try {
    const created = await createTask(deps, tenant, caller, input, { lane: admission.seat })
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
  { engine, toolCalls }: Deps,
  tenantName: string,
  instance: string,
  principal: PrincipalKey | undefined,
): Promise<void> {
  const { tenant } = await engine.tenant(tenantName)
  const { sessions } = toolCalls
  if (sessions?.tenant === tenant) sessions.left(instance, principal)
}
