import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { invalid } from '../core/errors.ts'
import { findOperation } from '../features/catalogue.ts'
import type { Operation } from '../features/define-operation.ts'
import { withHolder } from '../features/leases/worker-port.ts'
import type { Context } from './context.ts'

/** The operation that a skin stands for. */
export function operationNamed(name: string): Operation {
  const operation = findOperation(name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation
}

/** The fields of a call about a lease, with the task and the worker that the older protocols leave out. */
export async function withLease({ gate }: Context, credential: Credential, fields: Fields): Promise<Fields> {
  const { lease_id } = fields
  if (typeof lease_id !== 'string') throw invalid('run_id', 'is required: it names the lease')
  return withHolder(gate, credential.tenant, { ...fields, lease_id })
}

/** The given members under their new names, without those that are absent. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? names[name] : name, value]),
  )
}
