import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages } from './support.ts'

const FORM = {
  name: 'Planner <1>',
  redirects: 'https://app.example/callback\nhttp://127.0.0.1:9/callback',
  kind: 'agent',
  scope: ['tasks:read'],
}

describeGates('the page of OAuth clients', (open) => {
  it('an admin registers and removes clients, and revokes tokens', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    expect(await visitor.submit('/clients', '/clients', FORM)).toMatchObject({ status: 303 })
    const [client] = (await gate.listOauthClients(admin())).clients
    expect(client).toMatchObject({
      redirect_uris: FORM.redirects.split('\n'),
      scopes: ['tasks:read'],
      created_by: 'human:maria',
    })
    const list = await visitor.get('/clients')
    expect(list.text).toContain('Planner &lt;1&gt;')
    const revoke = { kind: 'agent', id: 'planner' }
    expect(await visitor.submit('/clients', '/clients/tokens/revoke', revoke)).toMatchObject({ status: 303 })
    const path = `/clients/${client?.client_id}/remove`
    expect(await visitor.submit('/clients', path)).toMatchObject({ status: 303 })
    expect((await gate.listOauthClients(admin())).clients).toEqual([])
  })

  it('a refused form is shown again with what was typed', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const refused = await visitor.submit('/clients', '/clients', {
      ...FORM,
      redirects: 'http://app.example/',
    })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('value="Planner &lt;1&gt;"')
    expect(refused.text).toContain('>http://app.example/</textarea>')
    expect((await gate.listOauthClients(admin())).clients).toEqual([])
  })
})
