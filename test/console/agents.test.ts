import { expect, it } from 'vitest'
import { NO_RATE_LIMITS } from '../../src/features/limits/rate-limits.ts'
import { agent, describeGates } from '../support/gates.ts'
import { ask, failTask, lease } from '../support/steps.ts'
import { actionsOf, servePages, viewerOf, wordsOf } from './support.ts'

const HOSTILE = `a"><script>alert(1)</script>\u202E`

describeGates(
  'agents in the console',
  (open) => {
    it('agents show what waits, runs and failed, with links to the tasks', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      const empty = await visitor.get('/agents')
      expect(wordsOf(empty.text)).toContain('No agent has created a task.')
      expect(empty.text).toContain('data-copy="npx asyncgate mcp add --client claude-code"')

      await ask(gate)
      await failTask(gate, await lease(gate), { retryable: false })
      for (let i = 0; i < 3; i++) await ask(gate)
      await ask(gate, {}, agent('bob'))
      await lease(gate)
      const { text } = await visitor.get('/agents')
      expect(wordsOf(text)).toMatch(/agent: alice 100 % 1 2 0 0 0 1 0 not limited agent: bob 0 % 0 1 0/)
      expect(text).toContain('href="/console/tasks?created_by=agent%3Aalice&amp;status=failed"')
      const ofBob = wordsOf((await visitor.get('/agents?principal=bob')).text)
      expect(ofBob).toContain('agent: bob')
      expect(ofBob).not.toContain('alice')
      expect(wordsOf((await visitor.get('/agents?principal=carl')).text)).toContain(
        'This agent has no tasks.',
      )
      const mistyped = await visitor.get('/agents?principal=robot%3Ax')
      expect(mistyped.status).toBe(400)
      expect(mistyped.text).toContain('value="robot:x"')
    })

    it('an agent whose calls are used up is marked as throttled', async () => {
      const { gate } = await open({
        realTime: true,
        rateLimits: { ...NO_RATE_LIMITS, isEnabled: true, principal: { calls: 1, window_seconds: 3600 } },
      })
      const origin = { request_id: 'r', ip: '127.0.0.1', user_agent: null, forwarded_for: null }
      await gate.createTask({ ...agent(), origin }, { type: 'job' })
      const visitor = (await servePages(gate)).visitor()
      expect(wordsOf((await visitor.get('/agents')).text)).toMatch(
        /agent: alice throttled .* 0 of 1 , all in /,
      )
    })

    it('a viewer sees agents, and their names are shown as text', async () => {
      const { gate } = await open({ realTime: true })
      await ask(gate, {}, agent(HOSTILE))
      const { text } = await (await viewerOf(gate)).get('/agents')
      expect(actionsOf(text)).toEqual([])
      expect(text).not.toContain('<script>')
      expect(text.replace(/data-row="[^"]*"/g, '')).not.toContain('\u202E')
    })
  },
  ['sqlite'],
)
