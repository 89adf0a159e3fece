import { describe, expect, it } from 'vitest'
import { callerOf } from '../../src/auth/caller.ts'
import type { Credential } from '../../src/auth/credential.ts'
import { Fault } from '../../src/core/errors.ts'

const SHARED: Credential = { kind: 'shared', tenant: 'default' }
const BOUND: Credential = {
  kind: 'bound',
  tenant: 't1',
  principal: { kind: 'agent', id: 'alice' },
  role: 'agent',
}

const byAgent = { actor: 'agent', input: { shape: { type: 1, principal_ai: 1 } } } as const
const byWorker = { actor: 'worker', input: { shape: { worker_id: 1, lease_id: 1 } } } as const
const byWorkerOfMany = { actor: 'worker', input: { shape: { items: 1 } } } as const
const byAnyone = { actor: 'anyone', input: { shape: { principal_id: 1, limit: 1 } } } as const

function refusal(act: () => unknown): Fault {
  try {
    act()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('not refused')
}

describe('caller under a shared key', () => {
  it.each([
    [{ principal_id: 'a' }, { kind: 'agent', id: 'a' }, 'agent'],
    [{ agent_id: 'a' }, { kind: 'agent', id: 'a' }, 'agent'],
    [{ principal_kind: 'service', principal_id: 'a' }, { kind: 'service', id: 'a' }, 'agent'],
    [{ principal_kind: 'human', principal_id: 'a' }, { kind: 'human', id: 'a' }, 'admin'],
    [{ principal_kind: 'worker', principal_id: 'a' }, { kind: 'worker', id: 'a' }, 'worker'],
    [
      { principal_id: 'a', principal_instance_id: 'i' },
      { kind: 'agent', id: 'a', instance_id: 'i' },
      'agent',
    ],
    [{ principal_ai: 'owner' }, { kind: 'agent', id: 'owner' }, 'agent'],
    [{}, { kind: 'service', id: 'operator' }, 'admin'],
  ])('%o calls as %o in the role %s', (fields, principal, role) => {
    expect(callerOf(SHARED, byAgent, fields).caller).toEqual({ tenant: 'default', principal, role })
  })

  it('a worker is identified by its worker_id, which stays in the input', () => {
    const fields = { worker_id: 'w', worker_kind: 'service', worker_instance_id: 'i', lease_id: 'l' }
    expect(callerOf(SHARED, byWorker, fields)).toEqual({
      caller: {
        tenant: 'default',
        principal: { kind: 'service', id: 'w', instance_id: 'i' },
        role: 'worker',
      },
      input: { worker_id: 'w', lease_id: 'l' },
    })
  })

  it('a worker with many leases is named beside the items or by the first item with a name', () => {
    const items = [{ worker_id: 'w' }]
    for (const fields of [{ items }, { items: [], worker_id: 'w' }, { items, worker_id: 'w' }]) {
      const { caller, input } = callerOf(SHARED, byWorkerOfMany, fields)
      expect(caller.principal).toEqual({ kind: 'worker', id: 'w' })
      expect(input).toEqual({ items: fields.items })
    }
  })

  it('fields that name the caller are not input', () => {
    const fields = { principal_id: 'a', principal_kind: 'agent', tenant_id: 'default', limit: 1 }
    expect(callerOf(SHARED, byAnyone, fields).input).toEqual({ limit: 1 })
  })

  it.each([
    [{ principal_id: '' }, 'VALIDATION_ERROR'],
    [{ principal_id: 7 }, 'VALIDATION_ERROR'],
    [{ principal_id: 'x'.repeat(256) }, 'VALIDATION_ERROR'],
    [{ principal_id: 'a\0' }, 'VALIDATION_ERROR'],
    [{ principal_id: '\ud800' }, 'VALIDATION_ERROR'],
    [{ principal_id: 'a', principal_kind: 'robot' }, 'VALIDATION_ERROR'],
    [{ principal_id: 'a', principal_kind: 'system' }, 'FORBIDDEN'],
    [{ tenant_id: 'other' }, 'FORBIDDEN'],
  ])('%o is refused with %s', (fields, code) => {
    expect(refusal(() => callerOf(SHARED, byAgent, fields)).code).toBe(code)
  })

  it.each([
    ['service', 'asyncgate'],
    ['service', 'gateway'],
    ['service', 'gateway@host'],
    ['service', 'approval-webhook'],
    ['service', 'operator'],
    ['service', 'asyncgate.mail'],
    ['service', 'AsyncGate'],
    ['service', ' operator '],
    ['service', 'async\u200bgate'],
    ['service', '\uff47ateway'],
    ['worker', 'asyncgate'],
    ['worker', 'gateway@host-1'],
    ['worker', 'asyncgate.mail'],
  ])('the name %s:%s is reserved for agents and workers', (kind, id) => {
    const refused = { code: 'FORBIDDEN', details: { principal: `${kind}:${id}` } }
    const asAgent = { principal_kind: kind, principal_id: id }
    const asWorker = { worker_kind: kind, worker_id: id }
    expect(refusal(() => callerOf(SHARED, byAgent, asAgent))).toMatchObject(refused)
    expect(refusal(() => callerOf(SHARED, byAnyone, asAgent))).toMatchObject(refused)
    expect(refusal(() => callerOf(SHARED, byWorker, asWorker))).toMatchObject(refused)
    const items = [{ worker_id: id }]
    expect(refusal(() => callerOf(SHARED, byWorkerOfMany, { items, worker_kind: kind }))).toMatchObject(
      refused,
    )
    expect(refusal(() => callerOf(BOUND, byWorker, asWorker))).toMatchObject(refused)
  })

  it.each([
    ['agent', 'operator'],
    ['agent', 'asyncgate'],
    ['service', 'gateway-2'],
    ['service', 'my.gateway'],
    ['human', 'operator'],
    ['worker', 'operator'],
  ])('the name %s:%s is not reserved', (principal_kind, principal_id) => {
    const { caller } = callerOf(SHARED, byAgent, { principal_kind, principal_id })
    expect(caller.principal).toEqual({ kind: principal_kind, id: principal_id })
  })

  it('worker_kind is worker or service', () => {
    const fields = { worker_id: 'w', worker_kind: 'human' }
    expect(refusal(() => callerOf(SHARED, byWorker, fields)).code).toBe('VALIDATION_ERROR')
  })
})

describe('bound credential', () => {
  it('a bound credential determines the caller of every operation', () => {
    const { tenant, principal, role } = BOUND
    for (const operation of [byAgent, byWorker, byAnyone]) {
      expect(callerOf(BOUND, operation, {}).caller).toEqual({ tenant, principal, role })
    }
  })

  it('a bound credential may be repeated in the request without becoming input', () => {
    expect(callerOf(BOUND, byAgent, { principal_id: 'alice', tenant_id: 't1', type: 'x' }).input).toEqual({
      type: 'x',
    })
  })

  const OTHERS = [
    { principal_id: 'bob' },
    { agent_id: 'bob' },
    { tenant_id: 't2' },
    { principal_kind: 'human', principal_id: 'alice' },
    { principal_kind: 'system' },
  ]

  it.each(OTHERS)('a bound credential cannot act as another principal: %o is forbidden', (fields) => {
    expect(refusal(() => callerOf(BOUND, byAgent, fields)).code).toBe('FORBIDDEN')
  })
})

describe('shared key beside keys of admins', () => {
  const credential: Credential = { ...SHARED, no_admin: true }

  it('a request that names no principal is not an admin', () => {
    expect(callerOf(credential, byAnyone, {}).caller).toMatchObject({
      principal: { kind: 'service', id: 'operator' },
      role: 'agent',
    })
  })

  it('a request cannot claim to be a person', () => {
    const fields = { principal_kind: 'human', principal_id: 'anna' }
    const asked = { actor: 'agent', input: { shape: {} } } as const
    expect(refusal(() => callerOf(credential, asked, fields)).code).toBe('FORBIDDEN')
  })

  it('agents and workers are not affected', () => {
    expect(callerOf(credential, byAgent, { agent_id: 'a' }).caller.role).toBe('agent')
    expect(callerOf(credential, byWorker, { worker_id: 'w' }).caller.role).toBe('worker')
  })
})

describe('operation that requires a person', () => {
  const decides = { actor: 'agent', input: { shape: {} }, needsPerson: true } as const
  const reads = { actor: 'agent', input: { shape: {} } } as const
  const person = {
    ...BOUND,
    tenant: 'default',
    principal: { kind: 'human', id: 'ann' },
    role: 'admin',
  } as const
  const proved: Credential = { ...SHARED, person }

  it.each([
    {},
    { agent_id: 'a' },
    { principal_kind: 'human', principal_id: 'ann' },
    { principal_kind: 'service', principal_id: 'ci' },
  ])('an operation that requires a person is refused for %o under a shared key', (fields) => {
    for (const credential of [SHARED, { ...SHARED, no_admin: true } as const]) {
      expect(refusal(() => callerOf(credential, decides, fields))).toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringContaining('with their own key'),
      })
    }
  })

  it('an operation that requires a person is refused for a key that does not belong to a person', () => {
    expect(refusal(() => callerOf(BOUND, decides, {})).code).toBe('FORBIDDEN')
  })

  it('an operation that requires a person runs as the calling person', () => {
    for (const credential of [person, proved]) {
      expect(callerOf(credential, decides, {}).caller).toMatchObject({ principal: { id: 'ann' } })
      const fields = { principal_kind: 'human', principal_id: 'bob' }
      expect(refusal(() => callerOf(credential, decides, fields)).code).toBe('FORBIDDEN')
    }
  })

  it('requiring a person does not affect other operations unless only people are admins', () => {
    expect(callerOf(proved, reads, { agent_id: 'a' }).caller.principal).toEqual({ kind: 'agent', id: 'a' })
    expect(callerOf(proved, reads, {}).caller.principal).toEqual({ kind: 'service', id: 'operator' })
    const strict: Credential = { ...proved, no_admin: true }
    expect(callerOf(strict, reads, {}).caller.principal).toEqual({ kind: 'human', id: 'ann' })
  })
})
