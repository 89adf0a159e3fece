import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages } from './support.ts'

const FORM = { email: 'ann@example.com', person: 'ann <1>', role: 'viewer' }

describeGates('the page of identities', (open) => {
  it('an admin lets a person sign in, and removes them', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    expect(await visitor.submit('/identities', '/identities', FORM)).toMatchObject({ status: 303 })
    const [identity] = (await gate.listIdentities(admin())).identities
    expect(identity).toMatchObject({ email: FORM.email, role: 'viewer', updated_by: 'human:maria' })
    expect((await visitor.get('/identities')).text).toContain('ann &lt;1&gt;')
    const path = `/identities/${identity?.identity_id}/remove`
    expect(await visitor.submit('/identities', path)).toMatchObject({ status: 303 })
    expect((await gate.listIdentities(admin())).identities).toEqual([])
  })

  it('a refused form is shown again with what was typed', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const refused = await visitor.submit('/identities', '/identities', { ...FORM, email: 'ann' })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('value="ann &lt;1&gt;"')
    expect(refused.text).toContain('<option selected>viewer</option>')
    expect((await gate.listIdentities(admin())).identities).toEqual([])
  })

  it('the sign-in page offers no identity provider if none is configured', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    expect((await visitor.get('/login')).text).not.toContain('/console/oidc')
    expect(await visitor.get('/oidc/callback?code=x&state=y')).toMatchObject({ status: 303 })
  })
})
