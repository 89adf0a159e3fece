import { Fault } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { PolicyContext } from '../../policy/ruling.ts'
import type { TenantRef } from '../../store/store.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/task-input.ts'
import { readOf } from '../upstreams/reads.ts'
import type { TenantUpstreams, UpstreamRegistry } from '../upstreams/upstreams.ts'

/** A requested task, as far as rules can see it. */
export interface Asking {
  readonly type: string
  readonly input: Pick<CreateInput, 'inputs' | 'body' | 'payload_pointer' | 'requirements'>
  /** The requested payload, or the edited one to approve. */
  readonly payload: Json | undefined
  readonly session_id: string | null
  readonly principal_ai: string
  readonly principal: PrincipalKey
}

export function policyContext(
  upstreams: Pick<TenantUpstreams, 'of'> | undefined,
  tenant: TenantRef,
  asking: Asking,
): PolicyContext {
  const { type, input, payload, session_id, principal_ai, principal } = asking
  const { inputs, body, payload_pointer, requirements } = input
  const caller = { agent: principal_ai, principal, tenant: tenant.name, session: session_id }
  const others = { inputs, body, payload_pointer, requirements }
  if (type !== TOOL_CALL) {
    const elsewhere = payload_pointer !== undefined
    return {
      type,
      tool: null,
      upstream: null,
      category: null,
      ...caller,
      args: payload ?? {},
      ...others,
      elsewhere,
    }
  }
  // A malformed payload is still a tool call: the rules apply to it, and it is refused later.
  const upstream = textOf(payload, 'upstream')
  const tool = textOf(payload, 'tool')
  const category = categoryOf(upstreams, tenant.tenant, upstream, tool)
  return { type, tool, upstream, category, ...caller, args: argumentsOf(payload), ...others }
}

/** The arguments of a tool call. */
export function argumentsOf(payload: Json | undefined): Json {
  return memberOf(payload, 'arguments') ?? {}
}

export function categoryOf(
  upstreams: Pick<TenantUpstreams, 'of'> | undefined,
  tenant: number,
  upstream: string,
  tool: string,
): string | null {
  const registry = upstreams?.of(tenant)
  if (registry === undefined) return null
  if (readOf(tool) !== undefined) return categoryOfRead(registry, upstream, tool)
  const found = registry.tools().find((each) => each.tool === tool && each.upstream === upstream)
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
