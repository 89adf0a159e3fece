import { z } from 'zod'
import { checkSelf } from '../core/authorization.ts'
import {
  type Caller,
  PRINCIPAL_KINDS,
  type PrincipalKey,
  type PrincipalKind,
  principalKey,
} from '../core/principal.ts'
import { text } from './input.ts'

/** The fields by which an admin names the principal that an operation is about. */
export const principalFields = {
  principal_kind: z
    .enum(PRINCIPAL_KINDS)
    .optional()
    .describe('Kind of the principal that principal_id names; agent if absent'),
  principal_id: text(255)
    .optional()
    .describe('The principal whose data is meant; the caller if absent. Only admins may name another one'),
}

/** The principal that the input names, which only admins may do for others; the caller if it names none. */
export function askedPrincipal(
  caller: Caller,
  asked: { principal_kind?: PrincipalKind | undefined; principal_id?: string | undefined },
): PrincipalKey {
  if (asked.principal_id === undefined) return principalKey(caller.principal)
  const principal: PrincipalKey = `${asked.principal_kind ?? 'agent'}:${asked.principal_id}`
  checkSelf(caller, principal)
  return principal
}
