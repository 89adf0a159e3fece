import { Fault } from './errors.ts'
import { type Caller, type PrincipalKey, principalKey, type Role } from './principal.ts'
import { isForClient, type Question } from './question.ts'
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
  answer: ['agent', 'admin', 'system'],
  /** And people who have the role of an agent. */
  approve: ['admin'],
} as const satisfies Record<string, readonly Role[]>

export type Permission = keyof typeof ALLOWED

export function checkRole(caller: Caller, permission: Permission): void {
  if (!may(caller, permission)) throw forbidden(ALLOWED[permission][0], caller.role)
}

export function may(caller: Caller, permission: Permission): boolean {
  const allowed: readonly Role[] = ALLOWED[permission]
  if (allowed.includes(caller.role)) return true
  return permission === 'approve' && caller.principal.kind === 'human' && caller.role === 'agent'
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
  if ('lease' in task && task.lease?.holder === key) return
  throw forbidden('admin', caller.role)
}

/** No principal approves its own request, whatever its role. */
export function checkApprover(task: TaskCore, question: Question, by: PrincipalKey): void {
  if (by !== task.owner && by !== `agent:${task.principal_ai}` && by !== question.asked_by) return
  const message = `${by} asked for this, so another principal has to decide.`
  throw new Fault('FORBIDDEN', { task_id: task.task_id, n: question.n }, message)
}

/** The user of the client that asked may decide in that client, if the rule that asked allows it. */
export function checkClientApprover(task: TaskCore, question: Question, by: PrincipalKey): void {
  if (isForClient(question) && by === task.owner) return
  const message = 'A person has to decide this, in the console or with the asyncgate command.'
  throw new Fault('FORBIDDEN', { task_id: task.task_id, n: question.n }, message)
}

/** Input comes from the owner, the agent for whom the task is done, or from above. */
export function checkAnswerer(task: TaskCore, by: PrincipalKey, role: Role): void {
  if (!seesAll(role) && by !== task.owner && by !== `agent:${task.principal_ai}`) {
    throw forbidden('admin', role)
  }
}

export function checkSelf(caller: Caller, principal: PrincipalKey): void {
  if (!seesAll(caller.role) && principalKey(caller.principal) !== principal) {
    throw forbidden('admin', caller.role)
  }
}

export function forbidden(required: Role, role: Role): Fault {
  return new Fault('FORBIDDEN', { required_role: required, your_role: role })
}
