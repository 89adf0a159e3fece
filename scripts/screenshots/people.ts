import type { Caller, PrincipalKind, Role } from '../../src/core/principal.ts'

function caller(kind: PrincipalKind, id: string, role: Role): Caller {
  return { tenant: 'default', principal: { kind, id }, role }
}

export const agent = (id: string) => caller('agent', id, 'agent')
export const worker = (id: string) => caller('worker', id, 'worker')
export const ADMIN = caller('human', 'maria', 'admin')
