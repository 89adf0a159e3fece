import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages } from './support.ts'

const SHOWN = /<code class="id" id="new-key">(ag[aw]_\w{52})<\/code>/

describeGates('the page of keys', (open) => {
  it('an admin creates, rotates and revokes keys, and each secret is shown once', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const form = { kind: 'worker', id: 'gpu-1', role: 'worker', name: 'node <1>', days: '30' }
    const created = await visitor.submit('/keys', '/keys', form)
    const [, key = ''] = SHOWN.exec(created.text) ?? []
    expect(key).toMatch(/^agw_/)
    const [record] = (await gate.listKeys(admin())).keys
    expect(record).toMatchObject({ principal: { kind: 'worker', id: 'gpu-1' }, created_by: 'human:maria' })
    const path = `/keys/${record?.key_id}`

    const list = await visitor.get('/keys')
    expect(list.text).toContain('node &lt;1&gt;')
    expect(list.text).not.toContain(key)
    const rotated = await visitor.submit('/keys', `${path}/rotate`, { hours: '1' })
    expect(SHOWN.exec(rotated.text)?.[1]).not.toBe(key)
    expect(await visitor.submit('/keys', `${path}/revoke`)).toMatchObject({ status: 303 })
    expect((await gate.getKey(admin(), { key_id: record?.key_id })).state).toBe('revoked')
  })

  it('a refused form is shown again with what was typed', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const form = { kind: 'agent', id: 'a "planner"', role: 'worker', scope: ['tasks:lease'] }
    const refused = await visitor.submit('/keys', '/keys', form)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('value="a &quot;planner&quot;"')
    expect(refused.text).toContain('value="tasks:lease" checked')
    expect((await gate.listKeys(admin())).keys).toEqual([])
  })

  it('a person signs in with an issued key, until the key is revoked', async () => {
    const { gate } = await open()
    const principal = { kind: 'human', id: 'ann' }
    const { key, key_id } = await gate.createKey(admin(), { principal, role: 'operator' })
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(key)
    expect(await visitor.get('/approvals')).toMatchObject({ status: 200 })
    expect(await visitor.get('/keys')).toMatchObject({ status: 403 })
    await gate.revokeKey(admin(), { key_id })
    expect(await visitor.get('/approvals')).toMatchObject({ status: 303 })
  })

  it('the key of an agent does not sign in', async () => {
    const { gate } = await open()
    const { key } = await gate.createKey(admin(), { principal: { kind: 'agent', id: 'a' }, role: 'agent' })
    const visitor = (await servePages(gate, LOCKED)).visitor()
    expect(await visitor.signIn(key)).toMatchObject({ status: 403 })
  })
})
