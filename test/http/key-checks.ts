import { expect } from 'vitest'
import { listOf, ROOT, type Served, textOf } from './support.ts'

const PLANNER = { principal: { kind: 'agent', id: 'planner' }, role: 'agent', name: 'laptop' }

const create = ({ post }: Served) => post('/v1/keys', { ...ROOT, ...PLANNER })
const createId = async (served: Served) => textOf(await create(served), 'key_id')

/** The operations on keys. */
export const keyChecks = {
  async create_key(served: Served) {
    const { status, body } = await create(served)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { ...PLANNER, tenant_id: 'default', prefix: 'aga', state: 'active', created_by: 'human:root' },
    })
    expect(body.key).toMatch(new RegExp(`^aga_${body.key_id}`))
  },

  async list_keys(served: Served) {
    await create(served)
    const answer = await served.get('/v1/keys', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(answer, 'keys')).toMatchObject([PLANNER])
  },

  async get_key(served: Served) {
    const key_id = await createId(served)
    expect(await served.get(`/v1/keys/${key_id}`, ROOT)).toMatchObject({ status: 200, body: PLANNER })
  },

  async rotate_key(served: Served) {
    const key_id = await createId(served)
    const rotated = await served.post(`/v1/keys/${key_id}/rotate`, { ...ROOT, overlap_seconds: 60 })
    expect(rotated).toMatchObject({ status: 200, body: PLANNER })
    expect(await served.get(`/v1/keys/${key_id}`, ROOT)).toMatchObject({
      body: { replaced_by: rotated.body.key_id, expires_at: expect.any(String) },
    })
  },

  async revoke_key(served: Served) {
    const key_id = await createId(served)
    const revoked = { status: 200, body: { state: 'revoked', revoked_by: 'human:root' } }
    expect(await served.post(`/v1/keys/${key_id}/revoke`, ROOT)).toMatchObject(revoked)
    expect(await served.post(`/v1/keys/${key_id}/revoke`, ROOT)).toMatchObject(revoked)
  },
}
