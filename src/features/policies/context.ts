import { Fault } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/task-input.ts'
import { readOf } from '../upstreams/reads.ts'
import type { UpstreamRegistry } from '../upstreams/upstreams.ts'
import type { PolicyContext } from './policies.ts'

/** What somebody wants to have done, as far as rules care. */
export interface Asking {
  readonly type: string
  readonly input: Pick<CreateInput, 'inputs' | 'body' | 'payload_pointer' | 'requirements'>
  /** As it was asked, or as somebody wants to approve it. */
  readonly payload: Json | undefined
  readonly session_id: string | null
  readonly principal_ai: string
  readonly principal: PrincipalKey
}

export function policyContext(
  engine: Pick<Services, 'upstreams'>,
  tenant: TenantRef,
  asking: Asking,
): PolicyContext {
  const { type, input, payload, session_id, principal_ai, principal } = asking
  const { inputs, body, payload_pointer, requirements } = input
  const who = { agent: principal_ai, principal, tenant: tenant.name, session: session_id }
  const besides = { inputs, body, payload_pointer, requirements }
  if (type !== TOOL_CALL) {
    const elsewhere = payload_pointer !== undefined
    return {
      type,
      tool: null,
      upstream: null,
      category: null,
      ...who,
      args: payload ?? {},
      ...besides,
      elsewhere,
    }
  }
  // One that cannot be read is still a call, and is refused as such.
  const upstream = textOf(payload, 'upstream')
  const tool = textOf(payload, 'tool')
  const category = categoryOf(engine, tenant.tenant, upstream, tool)
  return { type, tool, upstream, category, ...who, args: argumentsOf(payload), ...besides }
}

/** The arguments of a call of a tool. */
export function argumentsOf(payload: Json | undefined): Json {
  return memberOf(payload, 'arguments') ?? {}
}

export function categoryOf(
  engine: Pick<Services, 'upstreams'>,
  tenant: number,
  upstream: string,
  tool: string,
): string | null {
  const { upstreams } = engine
  if (upstreams === undefined || upstreams.tenant !== tenant) return null
  if (readOf(tool) !== undefined) return categoryOfRead(upstreams, upstream, tool)
  const found = upstreams.tools().find((each) => each.tool === tool && each.upstream === upstream)
  return found?.category ?? null
}

function categoryOfRead(upstreams: UpstreamRegistry, upstream: string, tool: string): string | null {
  try {
    return upstreams.offered(upstream, tool).category
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

function textOf(payload: Json | undefined, name: string): string {
  const value = memberOf(payload, name)
  return typeof value === 'string' ? value : ''
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  const member: Json | undefined = Reflect.get(value, name)
  return member
}
