import { invalid } from './errors.ts'

export const PRINCIPAL_KINDS = ['agent', 'worker', 'service', 'human', 'system'] as const
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number]

export interface Principal {
  readonly kind: PrincipalKind
  readonly id: string
  readonly instance_id?: string
}

/** `kind:id`, the form in which a principal is stored and compared. */
export type PrincipalKey = `${PrincipalKind}:${string}`

export const ROLES = ['agent', 'worker', 'admin', 'system'] as const
export type Role = (typeof ROLES)[number]

/** Who a request comes from. The credential decides all three; nothing in the input can change them. */
export interface Caller {
  readonly tenant: string
  readonly principal: Principal
  readonly role: Role
}

/** AsyncGate itself, as the author of receipts. */
export const GATE: PrincipalKey = 'service:asyncgate'

export function principalKey(principal: Principal): PrincipalKey {
  return `${principal.kind}:${principal.id}`
}

export function parsePrincipalKey(key: PrincipalKey): { kind: PrincipalKind; id: string } {
  const colon = key.indexOf(':')
  return { kind: asKind(key.slice(0, colon)), id: key.slice(colon + 1) }
}

export function isPrincipalKind(kind: string): kind is PrincipalKind {
  return (PRINCIPAL_KINDS as readonly string[]).includes(kind)
}

function asKind(kind: string): PrincipalKind {
  if (isPrincipalKind(kind)) return kind
  throw invalid('principal_kind', `is not one of ${PRINCIPAL_KINDS.join(', ')}`)
}
