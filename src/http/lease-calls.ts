import type { Fields } from '../auth/caller.ts'
import { callerOf } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import type { Gate } from '../gate/gate.ts'
import { findOperation } from '../operations/catalogue.ts'
import type { Operation } from '../operations/operation.ts'
import type { Context } from './context.ts'
import type { Grants } from './grants.ts'

/** The operation that a skin stands for. */
export function operationNamed(name: string): Operation {
  const operation = findOperation(name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation
}

/**
 * The fields of a lease call with the worker filled in where the older protocols leave it to the key: from the
 * lease as it was handed out, or as the task shows it.
 */
export async function withWorker(
  { gate }: Context,
  grants: Grants,
  credential: Credential,
  fields: Fields,
): Promise<Fields> {
  if (fields.worker_id !== undefined) return fields
  const grant = grants.find(fields.lease_id)
  if (grant !== undefined) {
    const { worker_id, worker_kind = 'worker' } = grant
    return { worker_kind, ...fields, worker_id }
  }
  return { ...fields, worker_id: await holderOf(gate, credential, fields) }
}

const ANYBODY = { actor: 'anyone', input: { shape: {} } } as const

async function holderOf(gate: Gate, credential: Credential, fields: Fields): Promise<string> {
  const { caller } = callerOf(credential, ANYBODY, {})
  const { task_id, status, lease } = await gate.getTask(caller, { task_id: fields.task_id })
  if (lease === undefined) throw new Fault('LEASE_INVALID_OR_EXPIRED', { task_id, task_status: status })
  return lease.worker_id
}

/** The given members under their new names, without those that are absent. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? names[name] : name, value]),
  )
}
