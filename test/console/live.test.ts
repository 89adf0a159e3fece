import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { ask } from '../support/steps.ts'
import { hiddenFields, KEY, LOCKED, servePages, unescaped, type Visitor } from './support.ts'

/** Connects to the events of a page. Returns what has arrived so far. */
async function follow(visitor: Visitor, path: string): Promise<() => string> {
  const { text } = await visitor.get(path)
  const address = unescaped(/data-events="([^"]+)"/.exec(text)?.[1] ?? '')
  let received = ''
  const connection = request(
    {
      port: visitor.port,
      host: '127.0.0.1',
      path: address,
      headers: { cookie: visitor.cookie },
      agent: false,
    },
    (response) => response.setEncoding('utf8').on('data', (part: string) => (received += part)),
  )
  connection.on('error', () => {}).end()
  onTestFinished(() => void connection.destroy())
  await expect.poll(() => received).toContain(': live')
  return () => received
}

describeGates(
  'live pages',
  (open) => {
    it('an open list receives only the regions that have changed', async () => {
      const { gate } = await open({ realTime: true })
      await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
      const visitor = (await servePages(gate, LOCKED)).visitor()
      await visitor.signIn(KEY)
      const received = await follow(visitor, '/approvals')
      expect(received()).not.toContain('event: patch')
      await ask(gate, { type: 'pay', payload: { amount: 250 } })
      await expect.poll(received, { timeout: 5000 }).toContain('250')
      expect(received()).toContain('"name":"waiting"')
      expect(received()).not.toContain('<html')
    })

    it('a page of a task is updated with the form token of its visitor, and not for changes of other tasks', async () => {
      const { gate } = await open({ realTime: true })
      const { task_id } = await ask(gate)
      const visitor = (await servePages(gate)).visitor()
      const page = await visitor.get(`/tasks/${task_id}`)
      const { token = '' } = hiddenFields(page.text, `/tasks/${task_id}/cancel`)
      const received = await follow(visitor, `/tasks/${task_id}`)
      for (let i = 0; i < 50; i++) await ask(gate)
      await gate.cancelTask(admin(), { task_id })
      await expect.poll(received, { timeout: 5000 }).toContain('canceled')
      expect(token).not.toBe('')
      expect(received()).toContain(token)
      expect(received().split('event: patch').length).toBeLessThanOrEqual(3)
    })

    it('the number of open pages of a person is limited', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      for (let i = 0; i < 30; i++) await follow(visitor, '/approvals')
      expect(await visitor.get('/events?page=/console/approvals')).toMatchObject({ status: 429 })
    })
  },
  ['sqlite'],
)
