import { checkPermission } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { policyContext } from '../policies/context.ts'
import type { StoredPolicies } from '../policies/stored-policies.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { BlockedTools } from './blocked-tools.ts'
import { NO_OFFERS, promptCall, READ_RESOURCE, type UpstreamOffers } from './reads.ts'
import type { Completed, Completing, TenantUpstreams, UpstreamTool } from './upstreams.ts'

interface Deps {
  readonly engine: Engine
  readonly upstreams: TenantUpstreams | undefined
}

const NO_TOOLS: readonly UpstreamTool[] = []

/** The upstream tools that a tenant can call. The list is the same object until it changes. */
export function upstreamTools(
  { upstreams }: Pick<Deps, 'upstreams'>,
  tenant: string,
): readonly UpstreamTool[] {
  return upstreams?.named(tenant)?.tools() ?? NO_TOOLS
}

/** What upstreams offer a tenant besides tools. It is the same object until it changes. */
export function upstreamOffers({ upstreams }: Pick<Deps, 'upstreams'>, tenant: string): UpstreamOffers {
  return upstreams?.named(tenant)?.offers() ?? NO_OFFERS
}

/** Why a tenant cannot call a tool of this name; undefined if it is not the name of an upstream tool. */
export function absentTool(
  { upstreams }: Pick<Deps, 'upstreams'>,
  tenant: string,
  name: string,
): Fault | undefined {
  return upstreams?.named(tenant)?.absence(name)
}

/** The listener is called when the tools of upstreams, or the set of blocked ones, change. Returns an unsubscribe function. */
export function onUpstreamTools(
  {
    upstreams,
    blockedTools,
  }: { readonly upstreams: TenantUpstreams | undefined; readonly blockedTools: BlockedTools },
  listener: () => void,
): () => void {
  const unsubscribers = [upstreams?.onTools(listener), blockedTools.onChange(listener)]
  return () => {
    for (const unsubscribe of unsubscribers) unsubscribe?.()
  }
}

const NOTHING: Completed = { values: [] }

/**
 * Asks an upstream to complete an argument of a prompt or resource template. The upstream is asked only if the policies
 * allow the caller to read the prompt or resource and would redact nothing in the request; otherwise there are no
 * suggestions.
 */
export async function completeArgument(
  deps: Deps & { readonly policies: StoredPolicies },
  caller: Caller,
  upstream: string,
  asked: Completing,
  signal?: AbortSignal,
): Promise<Completed> {
  checkPermission(caller, 'create')
  const { engine, policies } = deps
  const registry = deps.upstreams?.named(caller.tenant)
  if (registry === undefined) throw new Fault('UPSTREAM_NOT_FOUND', { name: upstream })
  const { ref, argument, others = {} } = asked
  const known = { ...others, [argument.name]: argument.value }
  const tool = ref.type === 'ref/prompt' ? promptCall(ref.name) : READ_RESOURCE
  registry.offered(upstream, tool)
  const tenant = await engine.tenant(caller.tenant)
  const { book: rules } = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const context = policyContext(deps.upstreams, tenant, {
    type: TOOL_CALL,
    payload: { upstream, tool, arguments: ref.type === 'ref/prompt' ? known : { uri: ref.uri } },
    input: {},
    session_id: null,
    principal_ai: caller.principal.id,
    principal: principalKey(caller.principal),
  })
  const ruling = rules.rule(context)
  const isAllowed = ruling.action === 'ALLOW' || ruling.action === 'REDACT'
  if (!isAllowed || ruling.redactArgs(known).fields.length > 0) return NOTHING
  const completed = await registry.complete(upstream, asked, signal)
  const { value } = rules.redactResult(context, [...completed.values], ruling.redacting)
  return { ...completed, values: Array.isArray(value) ? value.map(String) : [] }
}
