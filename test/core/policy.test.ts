import { describe, expect, test } from 'vitest'
import {
  checkOwner,
  checkPermission,
  checkReader,
  checkSelf,
  PERMISSIONS,
  type Permission,
  scopeConflict,
  seesAll,
} from '../../src/core/authorization.ts'
import {
  type Caller,
  isPrincipalKind,
  PRINCIPAL_KINDS,
  type PrincipalKey,
  type PrincipalKind,
  parsePrincipalKey,
  principalKey,
  ROLES,
  type Role,
} from '../../src/core/principal.ts'
import type { Scope } from '../../src/core/scopes.ts'
import { doneTask, heldTask, queuedTask } from '../support/fake-world.ts'
import { refusal, refusalCode, refusedPath } from './refusal.ts'

const caller = (role: Role, kind: PrincipalKind = 'agent', id = 'someone'): Caller => ({
  tenant: 'default',
  principal: { kind, id },
  role,
})

const PERMISSION_NAMES = Object.keys(PERMISSIONS) as Permission[]

function isAllowed(call: () => void): boolean {
  try {
    call()
    return true
  } catch {
    return false
  }
}

describe('permissions of roles', () => {
  const MATRIX: Record<Permission, Record<Role, boolean>> = {
    create: { agent: true, worker: false, viewer: false, operator: true, admin: true, system: true },
    retry: { agent: true, worker: false, viewer: false, operator: true, admin: true, system: true },
    cancel: { agent: true, worker: false, viewer: false, operator: true, admin: true, system: true },
    answer: { agent: true, worker: false, viewer: false, operator: true, admin: true, system: true },
    list: { agent: true, worker: false, viewer: true, operator: true, admin: true, system: true },
    read: { agent: true, worker: true, viewer: true, operator: true, admin: true, system: true },
    lease: { agent: false, worker: true, viewer: false, operator: false, admin: true, system: false },
    receipts: { agent: true, worker: true, viewer: true, operator: true, admin: true, system: true },
    acknowledge: { agent: true, worker: true, viewer: false, operator: true, admin: true, system: true },
    approve: { agent: false, worker: false, viewer: false, operator: true, admin: true, system: false },
    inspect: { agent: false, worker: false, viewer: true, operator: true, admin: true, system: true },
    operate: { agent: false, worker: false, viewer: false, operator: true, admin: true, system: true },
    manage: { agent: false, worker: false, viewer: false, operator: false, admin: true, system: true },
    audit: { agent: false, worker: false, viewer: false, operator: false, admin: true, system: true },
  }
  const cells = Object.entries(MATRIX).flatMap(([permission, row]) =>
    ROLES.map((role): [Permission, Role, boolean] => [permission as Permission, role, row[role]]),
  )

  test.each(cells)('permission %s for role %s: %s', (permission, role, allowed) => {
    for (const kind of PRINCIPAL_KINDS) {
      const isPerson = permission === 'approve' && kind === 'human' && role === 'agent'
      expect(isAllowed(() => checkPermission(caller(role, kind), permission))).toBe(allowed || isPerson)
    }
  })

  test('a refusal names the required role and that of the caller', () => {
    expect(refusal(() => checkPermission(caller('worker'), 'create')).toJSON()).toMatchObject({
      code: 'FORBIDDEN',
      details: { required_role: 'agent', your_role: 'worker' },
    })
    expect(refusal(() => checkPermission(caller('agent'), 'lease')).details).toEqual({
      required_role: 'worker',
      your_role: 'agent',
    })
  })

  test('all roles except for agents and workers see the tasks of other owners', () => {
    expect(ROLES.filter(seesAll)).toEqual(['viewer', 'operator', 'admin', 'system'])
  })
})

describe('scopes', () => {
  const limited = (role: Role, ...scopes: Scope[]): Caller => ({ ...caller(role), scopes })

  test.each<[Scope, readonly Permission[]]>([
    ['tasks:read', ['list', 'read']],
    ['tasks:write', ['create', 'retry', 'cancel', 'answer']],
    ['tasks:lease', ['read', 'lease']],
    ['receipts:read', ['receipts']],
    ['receipts:ack', ['acknowledge']],
    ['admin:read', ['list', 'read', 'receipts', 'inspect', 'audit']],
    ['admin:write', PERMISSION_NAMES],
  ])('%s includes %j', (scope, included) => {
    const isIncluded = (permission: Permission) =>
      isAllowed(() => checkPermission(limited('admin', scope), permission))
    expect(PERMISSION_NAMES.filter(isIncluded).toSorted()).toEqual([...included].toSorted())
  })

  test('a refusal names the required scope and those of the caller', () => {
    const refused = refusal(() => checkPermission(limited('agent', 'tasks:read'), 'create'))
    expect(refused).toMatchObject({ code: 'FORBIDDEN' })
    expect(refused.details).toEqual({ required_scope: 'tasks:write', your_scopes: ['tasks:read'] })
  })

  test('a scope never adds to the permissions of a role', () => {
    expect(isAllowed(() => checkPermission(limited('viewer', 'admin:write'), 'cancel'))).toBe(false)
  })

  test.each<[Role, Scope, boolean]>([
    ['agent', 'tasks:read', true],
    ['agent', 'admin:read', false],
    ['worker', 'tasks:lease', true],
    ['worker', 'admin:write', false],
    ['viewer', 'admin:read', true],
    ['viewer', 'tasks:read', false],
    ['admin', 'receipts:read', false],
    ['admin', 'admin:write', true],
  ])('a key with role %s can be limited to %s: %s', (role, scope, isPossible) => {
    expect(scopeConflict(role, [scope]) === undefined).toBe(isPossible)
  })
})

describe('owner of a task', () => {
  const task = queuedTask({ owner: 'agent:alice', principal_ai: 'boss' })

  test.each<[PrincipalKey, Role, boolean]>([
    ['agent:alice', 'agent', true],
    ['agent:bob', 'agent', false],
    ['agent:boss', 'agent', false],
    ['worker:alice', 'agent', false],
    ['human:root', 'admin', true],
    ['system:cron', 'system', true],
    ['worker:w1', 'worker', false],
  ])('%s with role %s may act as the owner: %s', (by, role, allowed) => {
    expect(isAllowed(() => checkOwner(task, by, role))).toBe(allowed)
  })
})

describe('readers of a task', () => {
  const common = { owner: 'agent:alice', principal_ai: 'boss' } as const
  const queued = queuedTask(common)
  const held = heldTask(common)
  const running = heldTask({ ...common, status: 'running' })
  const done = doneTask(common)
  const endedWithoutLease = doneTask({ ...common, status: 'canceled', lease: null })

  const shown = (to: Caller) =>
    [queued, held, running, done, endedWithoutLease].map((task) => isAllowed(() => checkReader(task, to)))

  test.each<[string, Caller]>([
    ['its owner', caller('agent', 'agent', 'alice')],
    ['principal_ai', caller('agent', 'agent', 'boss')],
    ['admins', caller('admin', 'human', 'root')],
    ['the system', caller('system', 'system', 'cron')],
  ])('a task is always shown to %s', (_, to) => {
    expect(shown(to)).toEqual([true, true, true, true, true])
  })

  test('a task is shown to a worker only while it holds it or if it ended it', () => {
    expect(shown(caller('worker', 'worker', 'w1'))).toEqual([false, true, true, true, false])
  })

  test.each<[string, Caller]>([
    ['other agents', caller('agent', 'agent', 'bob')],
    ['other workers', caller('worker', 'worker', 'w2')],
    ['a principal of another kind with the id of the owner', caller('worker', 'worker', 'alice')],
    ['a principal of another kind with the id of principal_ai', caller('agent', 'human', 'boss')],
  ])('a task is never shown to %s', (_, to) => {
    expect(shown(to)).toEqual([false, false, false, false, false])
    expect(refusalCode(() => checkReader(queued, to))).toBe('FORBIDDEN')
  })
})

describe('checkSelf', () => {
  test.each<[Caller, PrincipalKey, boolean]>([
    [caller('agent', 'agent', 'alice'), 'agent:alice', true],
    [caller('agent', 'agent', 'alice'), 'agent:bob', false],
    [caller('agent', 'agent', 'alice'), 'worker:alice', false],
    [caller('worker', 'worker', 'w1'), 'worker:w1', true],
    [caller('worker', 'worker', 'w1'), 'agent:alice', false],
    [caller('admin', 'human', 'root'), 'agent:alice', true],
    [caller('system', 'system', 'cron'), 'agent:alice', true],
  ])('caller %j may ask for %s: %s', (by, principal, allowed) => {
    expect(isAllowed(() => checkSelf(by, principal))).toBe(allowed)
  })
})

describe('principal keys', () => {
  test('a principal is written as kind:id and parsed back, also with colons in the id', () => {
    for (const kind of PRINCIPAL_KINDS) {
      const key = principalKey({ kind, id: 'a:b', instance_id: 'i1' })
      expect(key).toBe(`${kind}:a:b`)
      expect(parsePrincipalKey(key)).toEqual({ kind, id: 'a:b' })
    }
  })

  test('a principal of an unknown kind is refused', () => {
    expect(isPrincipalKind('robot')).toBe(false)
    expect(isPrincipalKind('toString')).toBe(false)
    expect(refusedPath(() => parsePrincipalKey('robot:x' as PrincipalKey))).toBe('principal_kind')
    expect(refusedPath(() => parsePrincipalKey('agent' as PrincipalKey))).toBe('principal_kind')
  })
})
