import { isPrincipalKind, OPERATOR, type Principal, type Role } from '../../src/core/principal.ts'
import { isObject } from '../../src/util/guards.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A request as its caller sends it. */
export interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Fields
}

export type NamedCaller = Principal & { readonly role: Role }

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** The request with the key of the caller that its fields name. Fields that only name the caller are removed. */
export function withKeyOf(fields: Fields, keyOf: (caller: NamedCaller) => string): Sent {
  const { caller, rest } = named(fields)
  return { headers: bearer(keyOf(caller)), fields: rest }
}

/**
 * A request under a shared key names its caller; a worker operation names its worker. A claim of a kind that no key can
 * have stays in the request.
 */
export function named(
  fields: Fields,
  isWorker = false,
): { readonly caller: NamedCaller; readonly rest: Fields } {
  if (isWorker) return { caller: workerIn(fields) ?? UNNAMED, rest: fields }
  const { principal_kind, principal_id, agent_id, ...rest } = fields
  const id = principal_id ?? agent_id
  if (typeof id === 'string') {
    const kind = principal_kind ?? 'agent'
    if (typeof kind === 'string' && isPrincipalKind(kind) && kind !== 'system')
      return { caller: { kind, id, role: ROLE_OF[kind] }, rest }
    return { caller: { kind: 'agent', id, role: 'agent' }, rest: fields }
  }
  const worker = workerIn(fields)
  if (worker !== undefined) return { caller: worker, rest: fields }
  const { principal_ai } = fields
  if (typeof principal_ai === 'string')
    return { caller: { kind: 'agent', id: principal_ai, role: 'agent' }, rest: fields }
  return { caller: { ...OPERATOR, role: 'agent' }, rest: fields }
}

/** A request without a worker is refused after the caller is known. */
const UNNAMED: NamedCaller = { kind: 'worker', id: 'unnamed', role: 'worker' }

const ROLE_OF = { agent: 'agent', service: 'agent', worker: 'worker', human: 'admin' } as const

function workerIn({ worker_id, worker_kind, items }: Fields): NamedCaller | undefined {
  const list: readonly unknown[] = Array.isArray(items) ? items : []
  const id = worker_id ?? list.filter(isObject).find((item) => typeof item.worker_id === 'string')?.worker_id
  if (typeof id !== 'string') return undefined
  return { kind: worker_kind === 'service' ? 'service' : 'worker', id, role: 'worker' }
}
