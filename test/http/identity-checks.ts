import { expect } from 'vitest'
import { listOf, ROOT, type Served, textOf } from './support.ts'

const IDENTITY = {
  email: 'ann@example.com',
  principal: { kind: 'human', id: 'ann' },
  role: 'operator',
  scopes: ['admin:read'],
}

const put = ({ post }: Served) => post('/v1/identities', { ...ROOT, ...IDENTITY })

/** The operations on people of the identity provider. */
export const identityChecks = {
  async put_identity(served: Served) {
    expect(await put(served)).toMatchObject({
      status: 200,
      body: { ...IDENTITY, issuer: null, subject: null, updated_by: 'human:root' },
    })
  },

  async list_identities(served: Served) {
    await put(served)
    const answer = await served.get('/v1/identities', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(answer, 'identities')).toMatchObject([IDENTITY])
  },

  async remove_identity(served: Served) {
    const identity_id = textOf(await put(served), 'identity_id')
    const path = `/v1/identities/${identity_id}/remove`
    expect(await served.post(path, ROOT)).toMatchObject({ status: 200, body: { identity_id, revoked: 0 } })
    expect(await served.post(path, ROOT)).toMatchObject({
      status: 404,
      body: { code: 'IDENTITY_NOT_FOUND' },
    })
  },
}
