import { expect } from 'vitest'
import { listOf, ROOT, type Served, textOf } from './support.ts'

const CLIENT = {
  client_name: 'My agent',
  redirect_uris: ['https://app.example/callback'],
  scopes: ['tasks:read', 'tasks:write'],
}

const create = ({ post }: Served, path = '/v1/oauth/clients') => post(path, { ...ROOT, ...CLIENT })

/** The operations on OAuth clients and their tokens. */
export const oauthChecks = {
  async create_oauth_client(served: Served) {
    for (const path of ['/v1/oauth/clients', '/admin/oauth/clients']) {
      expect(await create(served, path)).toMatchObject({
        status: 200,
        body: {
          ...CLIENT,
          client_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
          principal_kind: 'agent',
          created_by: 'human:root',
        },
      })
    }
  },

  async list_oauth_clients(served: Served) {
    await create(served)
    const answer = await served.get('/v1/oauth/clients', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(answer, 'clients')).toMatchObject([CLIENT])
  },

  async remove_oauth_client(served: Served) {
    const client_id = textOf(await create(served), 'client_id')
    const path = `/v1/oauth/clients/${client_id}/remove`
    expect(await served.post(path, ROOT)).toMatchObject({ status: 200, body: { client_id, revoked: 0 } })
    expect(await served.post(path, ROOT)).toMatchObject({ status: 404, body: { code: 'CLIENT_NOT_FOUND' } })
  },

  async revoke_tokens(served: Served) {
    const answer = await served.post('/v1/oauth/revoke', {
      ...ROOT,
      principal: { kind: 'agent', id: 'alice' },
    })
    expect(answer).toMatchObject({ status: 200, body: { revoked: 0 } })
  },
}
