import { expect, it } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { admin, agent, describeGates } from '../support/gates.ts'
import { ask, statusOf } from '../support/steps.ts'
import { servePages, unescaped, type Visitor, wordsOf } from './support.ts'

describeGates(
  'approvals in the console',
  (open) => {
    async function prepare(): Promise<{ gate: Gate; visitor: Visitor }> {
      const { gate } = await open({ realTime: true })
      await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
      return { gate, visitor: (await servePages(gate)).visitor() }
    }

    /** The values of the boxes of the list, each of which names one approval. */
    const itemsOf = async (visitor: Visitor, query = '') =>
      Array.from(
        (await visitor.get(`/approvals${query}`)).text.matchAll(/name="item" value="([^"]+)"(?! disabled)/g),
        ([, item = '']) => unescaped(item),
      )

    it('one approval is approved or denied from the list', async () => {
      const { gate, visitor } = await prepare()
      const one = await ask(gate, { type: 'pay', payload: { n: 1 } })
      const two = await ask(gate, { type: 'pay', payload: { n: 2 } })
      const [first = '', second = ''] = await itemsOf(visitor)
      const approved = await visitor.submit('/approvals', '/approvals/decide', { approve_one: first })
      expect(wordsOf((await visitor.follow(approved)).text)).toContain('Approved 1 task.')
      const unexplained = await visitor.submit('/approvals', '/approvals/decide', { deny_one: second })
      expect(unexplained.status).toBe(400)
      const form = { deny_one: second, [`reason-${second}`]: 'too much' }
      const denied = await visitor.submit('/approvals', '/approvals/decide', form)
      expect(wordsOf((await visitor.follow(denied)).text)).toContain('Denied 1 task.')
      expect([await statusOf(gate, one), await statusOf(gate, two)]).toEqual(['queued', 'canceled'])
    })

    it('the selected ones are decided together, and those that another person decided are counted', async () => {
      const { gate, visitor } = await prepare()
      const tasks = [await ask(gate, { type: 'pay' }), await ask(gate, { type: 'pay' })]
      const item = await itemsOf(visitor)
      const hidden = (await visitor.get('/approvals')).text
      expect(hidden).toContain('Approve all selected')
      await gate.deny(admin(), { task_id: tasks[0]?.task_id, reason: 'no' })
      await ask(gate, { type: 'pay' })
      const done = await visitor.submit('/approvals', '/approvals/decide', { item, verdict: 'approve' })
      const words = wordsOf((await visitor.follow(done)).text)
      expect(words).toContain('Approved 1 task. 1 task had been decided by someone else')
    })

    it('content that the list does not show completely cannot be decided there', async () => {
      const { gate, visitor } = await prepare()
      await ask(gate, { type: 'pay', payload: { text: 'x'.repeat(700) } })
      await ask(gate, { type: 'pay', body: 'more' })
      const { text } = await visitor.get('/approvals')
      expect(text).not.toContain('name="approve_one"')
      expect(text.match(/Read all and decide/g)).toHaveLength(2)
    })

    it('approvals are filtered by agent, type and rule', async () => {
      const { gate, visitor } = await prepare()
      await gate.putPolicy(admin(), { id: 'other', action: 'REQUIRE_APPROVAL', scope: { type: 'buy' } })
      await ask(gate, { type: 'pay' })
      await ask(gate, { type: 'buy' }, agent('bob'))
      const shown = async (query: string) =>
        Array.from(
          (await visitor.get(`/approvals${query}`)).text.matchAll(/class="row-title">([^<]+)</g),
          ([, title]) => title,
        )
      expect(await shown('')).toEqual(['pay', 'buy'])
      expect(await shown('?agent=bob')).toEqual(['buy'])
      expect(await shown('?type=pay')).toEqual(['pay'])
      expect(await shown('?rule=other')).toEqual(['buy'])
      expect(await shown('?rule=none')).toEqual([])
    })

    it('the page shows what the agent did before, why it asks, and the next approval', async () => {
      const { gate, visitor } = await prepare()
      const before = await ask(gate, { type: 'pay', summary: 'the first bill' })
      await gate.deny(admin(), { task_id: before.task_id, reason: 'no' })
      const task = await ask(gate, { type: 'pay', summary: 'the second bill' })
      const next = await ask(gate, { type: 'pay', summary: 'the third bill' })
      const path = `/approvals/${task.task_id}`
      const words = wordsOf((await visitor.get(path)).text)
      expect(words).toMatch(/Why this needs approval .*agent: alice .*asks for it.*look/)
      expect(words).toMatch(/What this agent did before .*denied .*the first bill .*by human: root/)
      const decided = await visitor.follow(await visitor.submit(path, `${path}/approve`))
      expect(decided.text).toContain(`href="/console/approvals/${next.task_id}" data-key="a">Next: pay`)
    })

    it('an edit can be compared with the request before it is approved', async () => {
      const { gate, visitor } = await prepare()
      const { task_id } = await ask(gate, { type: 'pay', payload: { amount: 250 } })
      const path = `/approvals/${task_id}`
      const { text, status } = await visitor.submit(path, `${path}/approve`, {
        payload: '{"amount": ',
      })
      expect(status).toBe(400)
      expect(wordsOf(text)).toContain('The payload is not valid JSON yet.')
      const form = { payload: '{"amount": 99}' }
      const page = await visitor.get(path)
      const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
      const shown = await visitor.post(`${path}/preview`, { ...form, token, n: '1' })
      expect(wordsOf(shown.text)).toMatch(/removed: "amount": 250.*added: "amount": 99/)
      expect(await statusOf(gate, { task_id })).toBe('pending_approval')
    })
  },
  ['sqlite'],
)
