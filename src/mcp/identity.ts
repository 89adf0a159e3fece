import { type Called, callerOf, type Fields } from '../auth/caller.ts'
import type { Caller } from '../core/principal.ts'
import type { Call } from './tool.ts'

/** Our own keys of `_meta` begin with it. */
export const META_PREFIX = 'io.asyncgate/'

/** What a request may say of itself in `_meta`, as `io.asyncgate/agent_id`, under a shared key. */
const NAMES = ['agent_id', 'principal_kind', 'principal_id', 'principal_instance_id', 'tenant_id'] as const

/** Requests about tasks have no arguments that could say who calls. */
const TASKS: Called = { actor: 'agent', input: { shape: {} } }

/** The fields that say who calls: those of the call itself, else those of the request's `_meta`. */
export function withIdentity(fields: Fields, { meta }: Pick<Call, 'meta'>): Fields {
  if (meta === undefined || fields.agent_id !== undefined || fields.principal_id !== undefined) return fields
  const named = NAMES.filter((name) => META_PREFIX + name in meta)
  if (named.length === 0) return fields
  return { ...Object.fromEntries(named.map((name) => [name, meta[META_PREFIX + name]])), ...fields }
}

/** Who asks about a task. Under a shared key that names nobody it is the operator, who sees every task of the tenant. */
export function taskCaller(call: Call): Caller {
  return callerOf(call.credential, TASKS, withIdentity({}, call)).caller
}
