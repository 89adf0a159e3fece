import { expect, it } from 'vitest'
import { ticksUpTo } from '../../src/console/chart.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { ask, askMany, failTask, finish, held, lease } from '../support/steps.ts'
import { KEY, LOCKED, servePages, wordsOf } from './support.ts'

describeGates('the overview of the console', (open) => {
  it('a newcomer sees commands to copy instead of empty lists', async () => {
    const { gate } = await open()
    const visitor = (await servePages(gate)).visitor()
    const page = await visitor.follow(await visitor.get(''))
    expect(page.status).toBe(200)
    expect(wordsOf(page.text)).toContain('Create the first task')
    expect(page.text).toContain('data-copy="npx asyncgate worker"')
    expect(wordsOf(page.text)).not.toContain('Needs attention')
  })

  it('the page shows tasks by status, the oldest waiting task, failures and what needs attention', async () => {
    const { gate } = await open({ realTime: true })
    await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
    await ask(gate, { type: 'pay' })
    await ask(gate, { type: '<b>mail</b>' })
    await failTask(gate, await lease(gate), {
      retryable: false,
      error: { code: 'E1', message: '<i>refused</i>' },
    })
    await askMany(gate, 2)
    const first = await lease(gate)
    await gate.startTask(worker(), held(first))
    await finish(gate, first)
    await gate.unregisterWorker(worker(), { worker_id: 'w1' })
    const { text } = await (await servePages(gate)).visitor().get('/overview')
    const words = wordsOf(text)
    expect(words).toContain('1 approval is waiting')
    expect(words).toContain('1 task type has no live worker')
    expect(words).toMatch(/Queued 1 Oldest waiting \d+ s /)
    expect(words).toContain('Succeeded 1 Failed 1')
    expect(words).toContain('<b>mail</b> 1 E1: <i>refused</i>')
    expect(text).not.toContain('<b>mail')
    expect(text).not.toContain('<i>refused')
    expect(text).toMatch(/<a href="\/console\/tasks\/[\w-]{36}">E1/)
  })

  it('charts have a name, a description, axes with units, and a table with the same numbers', async () => {
    const { gate } = await open({ realTime: true })
    await askMany(gate, 3)
    const visitor = (await servePages(gate)).visitor()
    for (const [period, unit] of [
      ['hour', 'tasks per minute'],
      ['day', 'tasks per 15 minutes'],
      ['month', 'tasks per 6 hours'],
    ]) {
      const { text } = await visitor.get(`/overview?period=${period}`)
      expect(text.match(/<svg viewBox="0 0 640 190" role="img"/g)).toHaveLength(4)
      expect(wordsOf(text)).toContain(`Throughput ${unit} 0 succeeded 3 created`)
      expect(text).toContain('3 tasks were created and 0 succeeded.</desc>')
      expect(wordsOf(text)).toMatch(/Show the numbers as a table .* \d\d:\d\d 3 0 0 0 –/)
      expect(text).toMatch(/aria-current="page">Last (hour|day|30 days)</)
    }
  })

  it('people without the permission land on the approvals', async () => {
    const { gate } = await open()
    const { visitor } = await servePages(gate, LOCKED)
    const { key } = await gate.createKey(admin(), { principal: { kind: 'human', id: 'ann' }, role: 'agent' })
    const ann = visitor()
    await ann.signIn(key)
    expect((await ann.get('')).headers.location).toBe('/console/approvals')
    expect((await ann.get('/overview')).status).toBe(403)
    const maria = visitor()
    await maria.signIn(KEY)
    expect((await maria.get('')).headers.location).toBe('/console/overview')
  })
})

it('ticks are round numbers that include the highest value', () => {
  expect(ticksUpTo(0, true)).toEqual([0, 1])
  expect(ticksUpTo(1, true)).toEqual([0, 1])
  expect(ticksUpTo(7, true)).toEqual([0, 5, 10])
  expect(ticksUpTo(0.05, false)).toEqual([0, 0.02, 0.04, 0.06])
  expect(ticksUpTo(1_234, true).at(-1)).toBeGreaterThanOrEqual(1_234)
})
