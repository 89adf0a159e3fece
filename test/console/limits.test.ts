import { expect, it } from 'vitest'
import { admin, agent, describeGates } from '../support/gates.ts'
import { KEY, LOCKED, servePages, wordsOf } from './support.ts'

describeGates('the page of limits', (open) => {
  it('an admin sees what is used of the quotas and changes the limits of a tenant', async () => {
    const { gate } = await open()
    await gate.createTask(agent('alice', 'acme'), { type: 'job' })
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const form = { tenant: 'acme', tier: 'free', max_active_tasks: '5', max_terminal_tasks: '' }
    const saved = await visitor.submit('/limits', '/limits', form)
    expect(saved).toMatchObject({ status: 303 })
    expect(await gate.getLimits(admin(), { tenant: 'acme' })).toMatchObject({
      tier: 'free',
      quotas: expect.arrayContaining([{ quota: 'max_active_tasks', limit: 5, used: 1 }]),
    })
    const page = await visitor.get('/limits?tenant=acme')
    expect(wordsOf(page.text)).toContain('max_active_tasks 5 1')
    expect(page.text).toContain('<option selected>free</option>')
  })

  it('a refused form is shown again with what was typed', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate, LOCKED)).visitor()
    await visitor.signIn(KEY)
    const refused = await visitor.submit('/limits', '/limits', { tier: 'paid', max_active_tasks: 'ma"ny' })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('value="ma&quot;ny"')
    expect((await gate.getLimits(admin())).tier).toBeNull()
  })
})
