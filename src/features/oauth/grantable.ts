import type { Caller, Role } from '../../core/principal.ts'
import { SCOPES, type Scope } from '../../core/scopes.ts'
import type { ClientKind } from './client-record.ts'

const OWN_WORK: readonly Scope[] = ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack']

/** What a person of each role may pass on. The scope admin:write gives a token the role admin. */
const OF_ROLE: Readonly<Record<Role, readonly Scope[]>> = {
  agent: OWN_WORK,
  worker: [],
  viewer: ['tasks:read', 'receipts:read', 'admin:read'],
  operator: [...OWN_WORK, 'admin:read'],
  admin: SCOPES,
  system: [],
}

/** The scopes that a person can grant to a client: no more than the person has. */
export function grantableScopes({ role, scopes }: Caller, kind: ClientKind): readonly Scope[] {
  const ofRole = OF_ROLE[role].filter((scope) => kind !== 'worker' || !scope.startsWith('admin:'))
  if (scopes === undefined) return ofRole
  // A key with an admin scope includes the narrower scopes for own tasks.
  const isWide = scopes.includes('admin:write')
  return isWide ? ofRole : ofRole.filter((scope) => scopes.includes(scope))
}
