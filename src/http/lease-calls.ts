import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { invalid } from '../core/errors.ts'
import { findOperation } from '../features/catalogue.ts'
import type { Operation } from '../features/define-operation.ts'
import { withHolder } from '../features/leases/worker-port.ts'
import type { Context } from './context.ts'

export const LEASE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 500, 503]

/** The operation that a route of another protocol stands for. */
export function operationNamed(name: string): Operation {
  const operation = findOperation(name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation
}

/** The fields of a call about a lease, completed with the task and the worker, which the older protocols omit. */
export async function withLease({ gate }: Context, credential: Credential, fields: Fields): Promise<Fields> {
  const { lease_id } = fields
  if (typeof lease_id !== 'string') throw invalid('run_id', 'is required: it names the lease')
  return withHolder(gate, credential.tenant, { ...fields, lease_id })
}

/** The same fields under the names of the catalogue. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? names[name] : name, value]),
  )
}
