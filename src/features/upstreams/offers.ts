import { checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { policyContext } from '../policies/context.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import { NO_OFFERS, promptCall, READ_RESOURCE, type UpstreamOffers } from './reads.ts'
import type { Completed, Completing } from './upstreams.ts'

/** What upstreams offer a tenant besides tools. The same object as long as it is the same. */
export async function upstreamOffers(engine: Services, tenant: string): Promise<UpstreamOffers> {
  const { upstreams } = engine
  if (upstreams === undefined) return NO_OFFERS
  return (await engine.tenant(tenant)).tenant === upstreams.tenant ? upstreams.offers() : NO_OFFERS
}

const NOTHING: Completed = { values: [] }

/**
 * Has an upstream complete an argument of a prompt or of a template. It is asked only where the rules let the caller read
 * what the argument is for, and nothing would have to be taken out of what it is told; else there are no suggestions.
 */
export async function completeArgument(
  engine: Services,
  caller: Caller,
  upstream: string,
  asked: Completing,
  signal?: AbortSignal,
): Promise<Completed> {
  checkRole(caller, 'create')
  const { policies, upstreams } = engine
  const tenant = await engine.tenant(caller.tenant)
  if (upstreams === undefined || upstreams.tenant !== tenant.tenant) {
    throw new Fault('UPSTREAM_NOT_FOUND', { name: upstream })
  }
  const { ref, argument, others = {} } = asked
  const known = { ...others, [argument.name]: argument.value }
  const tool = ref.type === 'ref/prompt' ? promptCall(ref.name) : READ_RESOURCE
  upstreams.offered(upstream, tool)
  const rules = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const context = policyContext(engine, tenant, {
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
  const completed = await upstreams.complete(upstream, asked, signal)
  const { value } = rules.redactResult(context, [...completed.values], ruling.redacting)
  return { ...completed, values: Array.isArray(value) ? value.map(String) : [] }
}
