import { Fault } from './errors.ts'
import { type Caller, type PrincipalKey, principalKey, type Role } from './principal.ts'
import type { Task, TaskCore } from './task.ts'

/** Who may do what. `own` verbs also need the caller to own the task, unless the role stands above owners. */
const ALLOWED = {
  create: ['agent', 'admin', 'system'],
  retry: ['agent', 'admin', 'system'],
  cancel: ['agent', 'admin', 'system'],
  list: ['agent', 'admin', 'system'],
  read: ['agent', 'worker', 'admin', 'system'],
  lease: ['worker', 'admin'],
  receipts: ['agent', 'worker', 'admin', 'system'],
  manage: ['admin', 'system'],
} as const satisfies Record<string, readonly Role[]>

export type Permission = keyof typeof ALLOWED

export function checkRole(caller: Caller, permission: Permission): void {
  const allowed: readonly Role[] = ALLOWED[permission]
  if (!allowed.includes(caller.role)) throw forbidden(allowed[0] ?? 'admin', caller.role)
}

/** Admins and the system see and cancel every task of their tenant. */
export function seesAll(role: Role): boolean {
  return role === 'admin' || role === 'system'
}

export function checkOwner(task: TaskCore, by: PrincipalKey, role: Role): void {
  if (!seesAll(role) && task.owner !== by) throw forbidden('admin', role)
}

/** A task is shown to its owner, the agent it is done for, the worker that holds or ended it, and admins. */
export function checkReader(task: Task, caller: Caller): void {
  const key = principalKey(caller.principal)
  if (seesAll(caller.role) || key === task.owner || key === `agent:${task.principal_ai}`) return
  if (task.status !== 'queued' && task.lease?.holder === key) return
  throw forbidden('admin', caller.role)
}

export function checkSelf(caller: Caller, principal: PrincipalKey): void {
  if (!seesAll(caller.role) && principalKey(caller.principal) !== principal) {
    throw forbidden('admin', caller.role)
  }
}

export function forbidden(required: Role, role: Role): Fault {
  return new Fault('FORBIDDEN', { required_role: required, your_role: role })
}
