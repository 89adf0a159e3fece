import { expect, it } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { agent, describeGates, worker } from '../support/gates.ts'
import { ask, askMany, failTask, finish, held, hold, openTasks, statusOf } from '../support/steps.ts'
import { servePages, unescaped, type Visitor, wordsOf } from './support.ts'

describeGates(
  'the list of tasks',
  (open) => {
    async function prepare(settings = {}): Promise<{ gate: Gate; visitor: Visitor }> {
      const { gate } = await open({ realTime: true, settings })
      return { gate, visitor: (await servePages(gate)).visitor() }
    }

    const listed = async (visitor: Visitor, q: string) => {
      const { text } = await visitor.get(`/tasks?${new URLSearchParams({ q })}`)
      return Array.from(text.matchAll(/data-row="([^"]+)"/g), ([, id]) => id)
    }

    it('the query selects the tasks', async () => {
      const { gate, visitor } = await prepare()
      const one = await ask(gate, { type: 'mail.send', session_id: 's', payload: { customer_id: 42 } })
      const two = await ask(gate, { type: 'b', labels: { team: 'x' } }, agent('bob'))
      expect(await listed(visitor, '')).toEqual([two.task_id, one.task_id])
      expect(await listed(visitor, 'type:mail.*')).toEqual([one.task_id])
      expect(await listed(visitor, 'agent:bob')).toEqual([two.task_id])
      expect(await listed(visitor, 'payload.customer_id:42')).toEqual([one.task_id])
      expect(await listed(visitor, '-label.team:x age:<1h')).toEqual([one.task_id])
      expect(await listed(visitor, 'status:running')).toEqual([])
    })

    it('a link that names fields leads to the same search', async () => {
      const { visitor } = await prepare()
      const { headers } = await visitor.get('/tasks?status=failed&type=a%20b&created_by=bob&session_id=s')
      const query = new URL(headers.location ?? '', 'http://x').searchParams.get('q')
      expect(query).toBe('status:failed type:"a b" agent:agent:bob session:s')
    })

    it('a mistake in the query is shown beside the field, with what was typed', async () => {
      const { visitor } = await prepare()
      const { status, text } = await visitor.get('/tasks?q=colour%3Ared')
      expect(status).toBe(400)
      expect(text).toContain('value="colour:red"')
      expect(wordsOf(text)).toContain('at character 1, colour:red: unknown qualifier')
    })

    it('each term has a link that removes it, and each status one that adds it', async () => {
      const { gate, visitor } = await prepare()
      await ask(gate, { type: 'a' })
      const { text } = await visitor.get('/tasks?q=type%3Aa+age%3A%3C1h')
      const linkOf = (label: string) =>
        unescaped(new RegExp(`href="([^"]+)"[^>]*aria-label="Remove ${label}"`).exec(text)?.[1] ?? '')
      expect(new URL(linkOf('type:a'), 'http://x').searchParams.get('q')).toBe('age:<1h')
      expect(unescaped(text)).toContain('q=type%3Aa+age%3A%3C1h+status%3Aqueued')
    })

    it('tasks are counted by status, ignoring the statuses of the query', async () => {
      const { gate, visitor } = await prepare()
      await finish(gate, await hold(gate, { type: 'a' }))
      await askMany(gate, 1_200, { type: 'a' })
      await ask(gate, { type: 'b' }, agent('bob'))
      const counted = async (q: string) => {
        const { text } = await visitor.get(`/tasks?${new URLSearchParams({ q })}`)
        const list = /<ul class="tallies".*?<\/ul>/s.exec(text)?.[0] ?? ''
        return wordsOf(list).trim()
      }
      expect(await counted('')).toBe('queued 1,201 succeeded 1')
      expect(await counted('type:a status:running')).toBe('queued 1,200 running 0 succeeded 1')
      expect(await counted('agent:bob')).toBe('queued 1')
      expect(await counted('session:none')).toBe('')
    })

    it('the columns show worker, duration, attempts, agent and the last error', async () => {
      const { gate, visitor } = await prepare()
      const offer = await hold(gate)
      await gate.startTask(worker(), held(offer))
      await failTask(gate, offer, {
        retryable: false,
        error: { code: 'E_SMTP', message: 'no route\nto host' },
      })
      const words = wordsOf((await visitor.get('/tasks')).text)
      for (const part of ['w1', 'agent: alice', 'E_SMTP', 'no route', ' ms']) expect(words).toContain(part)
    })

    it('the list is paginated', async () => {
      const { gate, visitor } = await prepare()
      await askMany(gate, 60)
      const first = await visitor.get('/tasks')
      const [, older = ''] = /href="\/console(\/tasks\?cursor=[^"]+)"/.exec(first.text) ?? []
      const second = await visitor.get(unescaped(older))
      expect(first.text.match(/data-row="/g)).toHaveLength(50)
      expect(second.text.match(/data-row="/g)).toHaveLength(10)
    })

    it('the selected tasks are canceled or retried', async () => {
      const { gate, visitor } = await prepare()
      const [one = '', two = '', three = ''] = await askMany(gate, 3)
      const form = { task_id: [one, two], reason: 'enough', action: 'cancel' }
      const page = await visitor.follow(await visitor.submit('/tasks?q=type%3Ajob', '/tasks/bulk', form))
      expect(wordsOf(page.text)).toContain('Canceled 2 tasks.')
      expect(await openTasks(gate)).toEqual([three])
      const retried = await visitor.submit('/tasks', '/tasks/bulk', { task_id: [one, two], action: 'retry' })
      expect(wordsOf((await visitor.follow(retried)).text)).toContain('Retried 2 tasks.')
      expect(await openTasks(gate)).toHaveLength(3)
      const none = await visitor.follow(await visitor.submit('/tasks', '/tasks/bulk', { action: 'cancel' }))
      expect(wordsOf(none.text)).toContain('Nothing was selected.')
    })

    it('all that match are canceled after a confirmation that shows their number', async () => {
      const { gate, visitor } = await prepare()
      await askMany(gate, 3, { session_id: 's' })
      const other = await ask(gate)
      const path = '/tasks/bulk?action=cancel&q=session%3As'
      const asked = await visitor.follow(await visitor.get('/tasks/cancel-all?session_id=s'))
      expect(wordsOf(asked.text)).toContain('Cancel 3 open tasks?')
      expect(await openTasks(gate)).toHaveLength(4)
      const done = await visitor.submit(path, '/tasks/bulk')
      expect(wordsOf((await visitor.follow(done)).text)).toContain('Canceled 3 tasks.')
      expect(await openTasks(gate)).toEqual([other.task_id])
      const every = await visitor.get('/tasks/bulk?action=cancel')
      expect(wordsOf(every.text)).toContain('this is every open task')
      await visitor.submit('/tasks/bulk?action=cancel', '/tasks/bulk')
      expect(await openTasks(gate)).toEqual([])
      expect(wordsOf((await visitor.get('/tasks/bulk-operations')).text)).toContain('session:s')
    })

    it('an operation in progress can be aborted on the page', async () => {
      // With a quota that is used up, a retry pauses.
      const { gate, visitor } = await prepare({ max_active_tasks: 1 })
      await failTask(gate, await hold(gate), { retryable: false })
      const { task_id } = await ask(gate)
      const started = await visitor.submit('/tasks/bulk?action=retry', '/tasks/bulk')
      const page = await visitor.follow(started)
      expect(wordsOf(page.text)).toContain('Retried 0 of 1 task')
      expect(wordsOf(page.text)).toContain('Paused:')
      const action = '/tasks/bulk-operations/abort'
      const path = (started.headers.location ?? '').replace('/console', '')
      expect(wordsOf((await visitor.follow(await visitor.submit(path, action))).text)).toContain('Aborted.')
      expect(await statusOf(gate, { task_id })).toBe('queued')
    })

    it('the empty list shows the command that creates a task', async () => {
      const { visitor } = await prepare()
      expect(wordsOf((await visitor.get('/tasks')).text)).toContain('npx asyncgate tasks create echo')
    })
  },
  ['sqlite'],
)
