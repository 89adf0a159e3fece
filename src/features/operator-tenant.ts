import { checkPermission } from '../core/authorization.ts'
import { Fault } from '../core/errors.ts'
import { type Caller, DEFAULT_TENANT } from '../core/principal.ts'
import { text } from './input.ts'

/** The field by which an operation names the tenant that it is about. */
export const tenantField = text(255)
  .optional()
  .describe('The tenant; your own if absent. Only admins of the tenant default can name another one')

/** Refuses callers who do not operate the server. `purpose` is what only operators can do. */
export function checkOperator(caller: Caller, purpose: string): void {
  checkPermission(caller, 'manage')
  if (caller.tenant === DEFAULT_TENANT || caller.origin === undefined) return
  throw new Fault(
    'FORBIDDEN',
    { required_role: 'admin', your_role: caller.role },
    `Only admins of the tenant ${DEFAULT_TENANT} can ${purpose}. Ask the operator of the server.`,
  )
}
