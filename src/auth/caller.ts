import { forbidden } from '../core/authorization.ts'
import { Fault, invalid } from '../core/errors.ts'
import {
  type Caller,
  isPrincipalKind,
  isReserved,
  OPERATOR,
  type Principal,
  type PrincipalKind,
  principalKey,
  type RequestOrigin,
  type Role,
} from '../core/principal.ts'
import { isObject } from '../util/guards.ts'
import type { BoundCredential, Credential, SharedCredential } from './credential.ts'

export type Fields = Readonly<Record<string, unknown>>

/** The part of an operation that decides how a request names its principal. */
export interface Called {
  readonly actor: 'agent' | 'worker' | 'anyone'
  readonly input: { readonly shape: object }
  /** Whether it requires a person who has proved their identity. */
  readonly needsPerson?: true
}

/** Fields that name the caller. They are removed, unless the operation has a field of that name. */
const IDENTITY_FIELDS: ReadonlySet<string> = new Set([
  'tenant_id',
  'auth_token',
  'trace_id',
  'agent_id',
  'principal_kind',
  'principal_id',
  'principal_instance_id',
  'worker_kind',
  'worker_instance_id',
])

/** Under a shared key the kind of the named principal determines the role. */
const ROLE_OF: Record<Exclude<PrincipalKind, 'system'>, Role> = {
  agent: 'agent',
  service: 'agent',
  worker: 'worker',
  human: 'admin',
}

/** The caller, and the input of the operation without the fields that name the caller. */
export function callerOf(
  credential: Credential,
  operation: Called,
  fields: Fields,
  origin?: RequestOrigin,
): { caller: Caller; input: Fields } {
  const tenant = text(fields, 'tenant_id')
  if (tenant !== undefined && tenant !== credential.tenant)
    throw new Fault('FORBIDDEN', { tenant_id: tenant })
  const person = personOf(credential, operation)
  if (person !== undefined) return boundCaller(person, operation, fields, origin)
  if (credential.kind === 'bound' || operation.needsPerson) throw unproven()
  const { principal, role } = namedPrincipal(operation, fields) ?? { principal: OPERATOR, role: 'admin' }
  const caller: Caller = {
    tenant: credential.tenant,
    principal,
    role: roleUnder(credential, principal, role),
    ...(origin && { origin }),
  }
  return { caller, input: without(fields, operation, () => true) }
}

/**
 * The person who calls, if that is proved. A local person who also sends the shared key acts as the principal that the
 * request names, except where a person is required or the shared key does not grant the role admin.
 */
function personOf(credential: Credential, { needsPerson }: Called): BoundCredential | undefined {
  if (credential.kind === 'shared') {
    return needsPerson || credential.no_admin ? credential.person : undefined
  }
  return needsPerson && credential.principal.kind !== 'human' ? undefined : credential
}

function unproven(): Fault {
  return new Fault(
    'FORBIDDEN',
    { required_role: 'admin' },
    'This requires a person with their own key. ' +
      'Ask one to use the console or the asyncgate command on the machine of the server, or to send an admin key.',
  )
}

/** Where admins have their own keys, naming a person does not prove an identity. */
function roleUnder(credential: SharedCredential, { kind }: Principal, role: Role): Role {
  if (credential.no_admin !== true || role !== 'admin') return role
  if (kind === 'human')
    throw new Fault('FORBIDDEN', { required_role: 'admin' }, 'A person must use their own key.')
  return 'agent'
}

/** The caller of a request that names no principal, for counting it. */
export function holderOf(credential: Credential, origin: RequestOrigin): Caller {
  if (credential.kind === 'shared')
    return { tenant: credential.tenant, principal: OPERATOR, role: 'agent', origin }
  return callerWith(credential, credential.principal, origin)
}

/** Every request has a caller, and copying a credential without some of its fields is slow. */
function callerWith(
  credential: BoundCredential,
  principal: Principal,
  origin: RequestOrigin | undefined,
): Caller {
  const { tenant, role, scopes, capabilities, key_id, identity } = credential
  return { tenant, principal, role, scopes, capabilities, key_id, identity, origin }
}

/** The fields that name the caller, and the rest. Fields for which `isOwn` is true belong to the rest. */
export function splitIdentity(
  fields: Fields,
  isOwn: (name: string) => boolean,
): { identity: Fields; rest: Fields } {
  const identity: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    const isIdentity = IDENTITY_FIELDS.has(name) && !isOwn(name)
    if (isIdentity) identity[name] = value
    else rest[name] = value
  }
  return { identity, rest }
}

/** A call about many leases names the worker in its items; a worker_id beside them only names the caller. */
function isLabel(name: string, { actor, input }: Called): boolean {
  return name === 'worker_id' && actor === 'worker' && !('worker_id' in input.shape)
}

/** A request may name the principal of its key, but no other. */
function boundCaller(
  credential: BoundCredential,
  operation: Called,
  fields: Fields,
  origin: RequestOrigin | undefined,
): { caller: Caller; input: Fields } {
  const { principal } = credential
  const { shape } = operation.input
  const id = text(fields, 'principal_id') ?? text(fields, 'agent_id')
  const kind = 'principal_kind' in shape ? undefined : claimedKind(fields)
  const isOther = (id !== undefined && id !== principal.id) || (kind !== undefined && kind !== principal.kind)
  if (!('principal_id' in shape) && isOther) {
    const key = principalKey(principal)
    throw new Fault(
      'FORBIDDEN',
      { principal: key },
      `The key belongs to ${key} and cannot be used for another principal.`,
    )
  }
  if (operation.actor === 'worker') namedPrincipal(operation, fields)
  const instance = operation.actor === 'worker' ? 'worker_instance_id' : 'principal_instance_id'
  const caller = callerWith(credential, withInstance(principal, fields, instance), origin)
  return { caller, input: without(fields, operation, (name) => !(name in shape)) }
}

function namedPrincipal(operation: Called, fields: Fields): { principal: Principal; role: Role } | undefined {
  if (operation.actor === 'worker') {
    const kind = text(fields, 'worker_kind') ?? 'worker'
    if (kind !== 'worker' && kind !== 'service') throw invalid('worker_kind', 'is not worker or service')
    const id = text(fields, 'worker_id') ?? workerOfItems(fields)
    // The operation refuses a missing worker_id.
    const principal = withInstance({ kind, id: id ?? 'unnamed' }, fields, 'worker_instance_id')
    return { principal: unreserved(principal), role: 'worker' }
  }
  const id = text(fields, 'principal_id') ?? text(fields, 'agent_id') ?? ownerOf(operation, fields)
  if (id === undefined) return undefined
  const kind = claimedKind(fields) ?? 'agent'
  return {
    principal: unreserved(withInstance({ kind, id }, fields, 'principal_instance_id')),
    role: ROLE_OF[kind],
  }
}

/** The kind of principal that a request claims. No request comes from the system. */
function claimedKind(fields: Fields): Exclude<PrincipalKind, 'system'> | undefined {
  const kind = text(fields, 'principal_kind')
  if (kind === undefined) return undefined
  if (!isPrincipalKind(kind)) throw invalid('principal_kind', 'is not a kind of principal')
  if (kind === 'system') throw forbidden('system', 'agent')
  return kind
}

/** Refuses the names that AsyncGate itself uses, so that no caller can impersonate it. */
function unreserved(principal: Principal): Principal {
  if (!isReserved(principal)) return principal
  const key = principalKey(principal)
  throw new Fault('FORBIDDEN', { principal: key }, `${key} is reserved for AsyncGate. Use another name.`)
}

/** The worker that the items of a list name. Items of other workers fail, because they hold other leases. */
function workerOfItems({ items }: Fields): string | undefined {
  const list: readonly unknown[] = Array.isArray(items) ? items : []
  const named = list.filter(isObject).find((item) => typeof item.worker_id === 'string')
  return named && text(named, 'worker_id')
}

/** A task without a named creator belongs to the agent on whose behalf it is created. */
function ownerOf(operation: Called, fields: Fields): string | undefined {
  return operation.actor === 'agent' ? text(fields, 'principal_ai') : undefined
}

function withInstance(principal: Principal, fields: Fields, name: string): Principal {
  const instance_id = text(fields, name)
  return instance_id === undefined ? principal : { ...principal, instance_id }
}

function text(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  const isName = typeof value === 'string' && value !== '' && value.length <= 255
  // The limits of every stored text.
  if (!isName || value.includes('\0') || !value.isWellFormed()) throw invalid(name, 'is not a name')
  return value
}

/** The fields except for those that name the caller. Most requests have none of them and are not copied. */
function without(fields: Fields, operation: Called, isIdentity: (name: string) => boolean): Fields {
  const isTaken = (name: string) =>
    (IDENTITY_FIELDS.has(name) && isIdentity(name)) || isLabel(name, operation)
  if (!Object.keys(fields).some(isTaken)) return fields
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !isTaken(name)))
}
