import { describe, expect, it } from 'vitest'
import { identityId, idsOf } from '../../../src/features/identities/record.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import { refusal } from '../../support/steps.ts'

const ANN = { email: 'Ann@Example.com', principal: { kind: 'human', id: 'ann' }, role: 'operator' }
const ISSUER = 'https://id.example/realms/work'
const proved = { issuer: ISSUER, subject: 'user-1', email: 'ann@example.com', isEmailVerified: true }

describe('the ids by which a person is found', () => {
  it('are those of the subject and of the verified email address', () => {
    const bySubject = identityId({ issuer: `${ISSUER}/`, subject: 'user-1' })
    expect(idsOf(proved)).toEqual([bySubject, identityId({ email: 'ANN@example.com' })])
    expect(idsOf({ ...proved, isEmailVerified: false })).toEqual([bySubject])
    expect(idsOf({ ...proved, email: null })).toEqual([bySubject])
  })

  it('an address with letters that only look like ASCII counts as none', () => {
    // The lower case of the Kelvin sign is the letter k.
    expect(idsOf({ ...proved, email: '\u212Aate@example.com' })).toHaveLength(1)
  })

  it('a subject is not an email address, nor that of another issuer', () => {
    const ids = [
      identityId({ email: 'a@b' }),
      identityId({ issuer: ISSUER, subject: 'a@b' }),
      identityId({ issuer: 'https://other.example', subject: 'a@b' }),
    ]
    expect(new Set(ids).size).toBe(3)
  })
})

describeGates('identities', (open) => {
  it('a person is found by subject before email, and only if the address is verified', async () => {
    const { gate } = await open()
    await gate.putIdentity(admin(), ANN)
    expect(await gate.identities.find(proved)).toMatchObject({ person: 'ann', role: 'operator' })
    expect(await gate.identities.find({ ...proved, isEmailVerified: false })).toBeUndefined()
    await gate.putIdentity(admin(), {
      issuer: ISSUER,
      subject: 'user-1',
      principal: { kind: 'human', id: 'anna' },
      role: 'viewer',
    })
    expect(await gate.identities.find(proved)).toMatchObject({ person: 'anna', role: 'viewer' })
  })

  it('a change ends the sign-ins of the revision before, and the same content changes nothing', async () => {
    const { gate } = await open()
    const { identity_id: id } = await gate.putIdentity(admin(), ANN)
    const { revision = '' } = (await gate.identities.find(proved)) ?? {}
    await gate.putIdentity(admin(), ANN)
    expect(await gate.identities.current({ id, revision })).toBeDefined()
    await gate.putIdentity(admin(), { ...ANN, role: 'viewer' })
    expect(await gate.identities.current({ id, revision })).toBeUndefined()
    await gate.putIdentity(admin(), ANN)
    expect(await gate.identities.current({ id, revision })).toBeUndefined()
  })

  it('an identity that was removed and added again does not revive sign-ins', async () => {
    const { gate } = await open()
    const { identity_id: id } = await gate.putIdentity(admin(), ANN)
    const { revision = '' } = (await gate.identities.find(proved)) ?? {}
    await gate.removeIdentity(admin(), { identity_id: id })
    await gate.putIdentity(admin(), ANN)
    expect(await gate.identities.current({ id, revision })).toBeUndefined()
  })

  it('a person belongs to one tenant, and no other tenant sees or removes them', async () => {
    const { gate } = await open()
    const { identity_id } = await gate.putIdentity(admin('acme'), ANN)
    expect(await refusal(gate.putIdentity(admin('other'), ANN))).toMatchObject({ code: 'IDENTITY_TAKEN' })
    expect(await refusal(gate.removeIdentity(admin('other'), { identity_id }))).toMatchObject({
      code: 'IDENTITY_NOT_FOUND',
    })
    expect((await gate.listIdentities(admin('other'))).identities).toEqual([])
    expect((await gate.listIdentities(admin('acme'))).identities).toMatchObject([{ tenant_id: 'acme' }])
  })

  it('lists the identities of a tenant in pages', async () => {
    const { gate } = await open()
    for (let i = 0; i < 7; i++) {
      const tenant = i % 2 === 0 ? 'acme' : 'other'
      await gate.putIdentity(admin(tenant), { ...ANN, email: `person-${i}@example.com` })
    }
    const first = await gate.listIdentities(admin('acme'), { limit: 3 })
    const second = await gate.listIdentities(admin('acme'), { limit: 3, cursor: first.next_cursor })
    const emails = [...first.identities, ...second.identities].map(({ email }) => email)
    expect(emails.toSorted()).toEqual([0, 2, 4, 6].map((i) => `person-${i}@example.com`))
    expect(second.next_cursor).toBeNull()
  })

  it.each([
    [{ email: 'ann' }, 'email'],
    [{ email: 'änn@example.com' }, 'email'],
    [{ email: undefined }, 'email'],
    [{ email: undefined, subject: 'user-1' }, 'issuer'],
    [{ email: undefined, subject: 'user-1', issuer: 'id.example' }, 'issuer'],
    [{ issuer: ISSUER, subject: 'user-1' }, 'email'],
    [{ principal: { kind: 'agent', id: 'ann' } }, 'principal.kind'],
    [{ role: 'worker' }, 'role'],
    [{ role: 'admin', scopes: ['tasks:read'] }, 'scopes'],
  ])('%j is refused', async (over, path) => {
    const { gate } = await open()
    expect(await refusal(gate.putIdentity(admin(), { ...ANN, ...over }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path },
    })
  })

  it('only admins let people sign in', async () => {
    const { gate } = await open()
    expect(await refusal(gate.putIdentity(agent(), ANN))).toMatchObject({ code: 'FORBIDDEN' })
    const operator = { ...admin(), role: 'operator' } as const
    expect(await refusal(gate.putIdentity(operator, ANN))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('the identities of a person are exported and erased with their data', async () => {
    const { gate } = await open()
    await gate.putIdentity(admin(), ANN)
    await gate.putIdentity(admin(), {
      ...ANN,
      email: 'bob@example.com',
      principal: { kind: 'human', id: 'bob' },
    })
    const records: unknown[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<typeof gate.exportPrincipal>> = await gate.exportPrincipal(admin(), {
        ...ANN.principal,
        ...(cursor !== null && { cursor }),
      })
      records.push(...page.records)
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(records).toContainEqual(
      expect.objectContaining({
        kind: 'identity',
        identity: expect.objectContaining({ email: 'ann@example.com' }),
      }),
    )
    await gate.erasePrincipal(admin(), ANN.principal)
    await expect
      .poll(async () => (await gate.listIdentities(admin())).identities)
      .toMatchObject([{ email: 'bob@example.com' }])
  })
})
