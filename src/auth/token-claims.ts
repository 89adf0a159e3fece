import { Fault } from '../core/errors.ts'
import {
  isPrincipalKind,
  isReserved,
  type PrincipalKind,
  principalKey,
  type Role,
} from '../core/principal.ts'
import { SCOPES, type Scope } from '../core/scopes.ts'
import type { BoundCredential } from './credential.ts'

export type Claims = Readonly<Record<string, unknown>>

/** The names of the claims that an issuer uses. */
export interface ClaimNames {
  readonly tenant: string
  readonly kind: string
  readonly principal: string
  readonly scope: string
}

export const OWN_CLAIMS: ClaimNames = {
  tenant: 'tenant_id',
  kind: 'principal_kind',
  principal: 'principal_id',
  scope: 'scope',
}

/** With admin:read but not admin:write, the role of an admin is limited to these, or it could change tasks of others. */
const READING: readonly Scope[] = ['tasks:read', 'receipts:read', 'admin:read']

/** The credential that verified claims describe. */
export function credentialOfClaims(
  claims: Claims,
  names: ClaimNames,
  defaultTenant: string | null,
): Omit<BoundCredential, 'token'> {
  const tenant = text(claims, names.tenant) ?? defaultTenant
  if (tenant === null) throw invalidToken(`The access token has no claim ${names.tenant}.`)
  const kind = text(claims, names.kind) ?? 'agent'
  if (!isPrincipalKind(kind)) throw invalidToken(`The claim ${names.kind} is not a kind of principal.`)
  const id = text(claims, names.principal) ?? text(claims, 'sub')
  if (id === undefined) throw invalidToken('The access token has no subject.')
  const principal = { kind, id }
  if (isReserved(principal)) throw invalidToken(`${principalKey(principal)} is reserved for AsyncGate.`)
  return { kind: 'bound', tenant, principal, ...accessOf(kind, scopesOf(claims[names.scope])) }
}

/** The role that scopes amount to. A token without scopes has the role of an agent, and may do nothing. */
function accessOf(kind: PrincipalKind, scopes: readonly Scope[]): { role: Role; scopes: readonly Scope[] } {
  if (kind === 'worker') return { role: 'worker', scopes }
  if (scopes.includes('admin:write')) return { role: 'admin', scopes }
  if (scopes.includes('admin:read')) {
    return { role: 'admin', scopes: scopes.filter((scope) => READING.includes(scope)) }
  }
  const isOwner = scopes.includes('tasks:read') || scopes.includes('tasks:write')
  return { role: scopes.includes('tasks:lease') && !isOwner ? 'worker' : 'agent', scopes }
}

/** The known scopes of a text, separated by spaces or commas, or of a list. The others are for other servers. */
export function scopesOf(value: unknown): readonly Scope[] {
  const items: readonly unknown[] = typeof value === 'string' ? value.split(/[\s,]+/) : asList(value)
  return SCOPES.filter((scope) => items.includes(scope))
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (value === undefined || value === null) return undefined
  const isName = typeof value === 'string' && value !== '' && value.length <= 255
  // The limits of every stored text.
  if (!isName || value.includes('\0') || !value.isWellFormed())
    throw invalidToken(`The claim ${name} is not a name.`)
  return value
}

/** A token that is not accepted. */
export function invalidToken(message = 'The access token is not valid.'): Fault {
  return new Fault('UNAUTHENTICATED', { reason: 'invalid_token' }, message)
}
