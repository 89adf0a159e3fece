import { Fault } from './errors.ts'
import { type Caller, type PrincipalKey, principalKey, type Role } from './principal.ts'
import { isForClient, type Question } from './question.ts'
import type { Scope } from './scopes.ts'
import type { Task, TaskCore } from './task.ts'

/** The roles that have a permission, and the scopes that include it. */
interface Grant {
  readonly roles: readonly [Role, ...Role[]]
  readonly scopes: readonly [Scope, ...Scope[]]
}

/**
 * Who may do what. To change a task of another principal, the caller also needs a role that sees all tasks. The first
 * role and the first scope are the ones that a refusal names.
 */
const GRANTS = {
  create: { roles: ['agent', 'operator', 'admin', 'system'], scopes: ['tasks:write', 'admin:write'] },
  retry: { roles: ['agent', 'operator', 'admin', 'system'], scopes: ['tasks:write', 'admin:write'] },
  cancel: { roles: ['agent', 'operator', 'admin', 'system'], scopes: ['tasks:write', 'admin:write'] },
  answer: { roles: ['agent', 'operator', 'admin', 'system'], scopes: ['tasks:write', 'admin:write'] },
  list: {
    roles: ['agent', 'viewer', 'operator', 'admin', 'system'],
    scopes: ['tasks:read', 'admin:read', 'admin:write'],
  },
  read: {
    roles: ['agent', 'worker', 'viewer', 'operator', 'admin', 'system'],
    scopes: ['tasks:read', 'tasks:lease', 'admin:read', 'admin:write'],
  },
  lease: { roles: ['worker', 'admin'], scopes: ['tasks:lease', 'admin:write'] },
  receipts: {
    roles: ['agent', 'worker', 'viewer', 'operator', 'admin', 'system'],
    scopes: ['receipts:read', 'admin:read', 'admin:write'],
  },
  acknowledge: {
    roles: ['agent', 'worker', 'operator', 'admin', 'system'],
    scopes: ['receipts:ack', 'admin:write'],
  },
  /** And people who have the role of an agent. A client that acts for a person does not get this scope by default. */
  approve: { roles: ['admin', 'operator'], scopes: ['admin:write'] },
  /** Reads the configuration of the tenant. */
  inspect: { roles: ['admin', 'viewer', 'operator', 'system'], scopes: ['admin:read', 'admin:write'] },
  /** Controls running work, without changing the configuration. */
  operate: { roles: ['admin', 'operator', 'system'], scopes: ['admin:write'] },
  manage: { roles: ['admin', 'system'], scopes: ['admin:write'] },
  /** Reads who has access and what they did with it. */
  audit: { roles: ['admin', 'system'], scopes: ['admin:read', 'admin:write'] },
} as const satisfies Record<string, Grant>

export type Permission = keyof typeof GRANTS

export const PERMISSIONS: Readonly<Record<Permission, Grant>> = GRANTS

export function checkPermission(caller: Caller, permission: Permission): void {
  if (!hasRole(caller, permission)) throw lacksRole(caller, permission)
  checkScope(caller, permission)
}

/** The role of an access token follows from its scopes, so its client has to know which scope is missing. */
function lacksRole(caller: Caller, permission: Permission): Fault {
  const { roles, scopes } = PERMISSIONS[permission]
  if (hasScope(caller, permission)) return forbidden(roles[0], caller.role)
  const details = { required_role: roles[0], your_role: caller.role, required_scope: scopes[0] }
  return new Fault('FORBIDDEN', details)
}

export function checkScope(caller: Pick<Caller, 'scopes'>, permission: Permission): void {
  if (hasScope(caller, permission)) return
  const { scopes } = PERMISSIONS[permission]
  throw new Fault(
    'FORBIDDEN',
    { required_scope: scopes[0], your_scopes: caller.scopes },
    `This credential is limited to ${caller.scopes?.join(', ') || 'nothing'}, and this needs ${scopes[0]}.`,
  )
}

/** Whether both the role and the scopes of the caller include a permission. */
export function may(caller: Caller, permission: Permission): boolean {
  return hasRole(caller, permission) && hasScope(caller, permission)
}

function hasRole({ role, principal }: Caller, permission: Permission): boolean {
  if (PERMISSIONS[permission].roles.includes(role)) return true
  return permission === 'approve' && principal.kind === 'human' && role === 'agent'
}

function hasScope({ scopes }: Pick<Caller, 'scopes'>, permission: Permission): boolean {
  return scopes === undefined || PERMISSIONS[permission].scopes.some((scope) => scopes.includes(scope))
}

/**
 * Why a role cannot be limited to these scopes; undefined if it can. A role that sees the tasks of all principals needs a
 * scope for all of them: a narrower one would suggest a limit to own tasks.
 */
export function scopeConflict(role: Role, scopes: readonly Scope[]): string | undefined {
  const isWide = seesAll(role)
  const hasWide = scopes.some((scope) => scope.startsWith('admin:'))
  if (isWide && !hasWide) return `the role ${role} sees all tasks, and needs admin:read or admin:write`
  if (!isWide && hasWide) return `the role ${role} sees only its own tasks, and cannot have an admin scope`
  return undefined
}

/** These roles see every task of their tenant, and change those that their permissions allow. */
export function seesAll(role: Role): boolean {
  return role !== 'agent' && role !== 'worker'
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

/** A key that is limited to some capabilities cannot claim with others. */
export function checkCapabilities(caller: Caller, claimed: readonly string[]): void {
  const { capabilities } = caller
  const excess = capabilities && claimed.find((capability) => !capabilities.includes(capability))
  if (excess === undefined) return
  throw new Fault(
    'FORBIDDEN',
    { capability: excess, your_capabilities: capabilities },
    `The key cannot claim tasks with the capability ${excess}.`,
  )
}

export function forbidden(required: Role, role: Role): Fault {
  return new Fault('FORBIDDEN', { required_role: required, your_role: role })
}
