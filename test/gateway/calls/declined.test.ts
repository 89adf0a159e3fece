import { expect, it } from 'vitest'
import { cli } from '../../cli/support.ts'
import { admin } from '../../support/gates.ts'
import { ASKING } from '../upstreams/fixture-asking.ts'
import { httpFixture } from '../upstreams/fixture-http.ts'
import { web } from '../upstreams/support.ts'
import { serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()

/** A call of an upstream tool that waits for the answer to its question. */
async function asked() {
  const upstream = await httpFixture('legacy', { runs: ASKING })
  const { gate, url } = await serve([web(upstream.url)], { ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' })
  const payload = { upstream: 'fix', tool: 'order', arguments: {} }
  const { task_id } = await gate.createTask(ROOT, { type: 'mcp.tool_call', payload })
  const task = () => gate.getTask(ROOT, { task_id })
  await until(async () => (await task()).status === 'input_required')
  const answer = (...args: string[]) => cli(['tasks', 'answer', task_id, ...args], { ASYNCGATE_URL: url })
  return { task, answer }
}

it.each(['decline', 'cancel'])('tasks answer --%s reaches the upstream, which continues', async (action) => {
  const { task, answer } = await asked()
  expect(await answer(`--${action}`)).toEqual({
    code: 0,
    stdout: `The upstream receives ${action}. The call continues.\n`,
    stderr: '',
  })
  await until(async () => (await task()).result !== undefined)
  const { status, result } = await task()
  expect(status).toBe('succeeded')
  expect(JSON.stringify(result)).toMatch(new RegExp(`action\\W+${action}`))
  expect(await answer(`--${action}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('asks for no input'),
  })
})

it.each([
  ['--decline with an answer', ['--decline', '{"size":"s"}'], 'takes no answer'],
  ['--cancel with an answer', ['--cancel', '{"size":"s"}'], 'takes no answer'],
  ['--decline and --cancel', ['--decline', '--cancel'], 'Use either --decline or --cancel'],
])('tasks answer with %s is refused, and the question stays open', async (_, args, problem) => {
  const { task, answer } = await asked()
  expect(await answer(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) })
  expect(await task()).toMatchObject({ status: 'input_required', question: { n: 1 } })
})
