import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Caller } from '../../../src/core/principal.ts'
import { TOOL_SETS } from '../../../src/core/tool-sets.ts'
import { type McpServer, modernCall, modernPost, openMcp, postTo } from '../endpoint.ts'

const ALICE: Caller = { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' }
const WORKER: Caller = { tenant: 'default', principal: { kind: 'worker', id: 'w1' }, role: 'worker' }

const LIST_LIMIT = 2_000
const BOOTSTRAP_LIMIT = 1_500
const DEFAULT_LIMIT = 2_500

let server: McpServer

beforeAll(async () => {
  server = await openMcp({ query: '' })
  await seed()
}, 60_000)
afterAll(() => server.close())

/** An agent with 200 tasks in all states, each with a summary, a payload and a long result or error. */
async function seed(): Promise<void> {
  const { gate } = server
  const words = (n: number) => Array.from({ length: n }, (_, i) => `word${i}`).join(' ')
  const tasks = Array.from({ length: 200 }, (_, i) => ({
    type: ['summarise', 'translate.document', 'code_review'][i % 3],
    summary: `Task number ${i}: ${words(20)}`,
    payload: { n: i, text: words(100) },
  }))
  await gate.createTasks(ALICE, { tasks })
  const { tasks: leased } = await gate.leaseNext(WORKER, { worker_id: 'w1', max_tasks: 100 })
  for (const [i, { task_id, lease_id }] of leased.entries()) {
    const lease = { worker_id: 'w1', task_id, lease_id }
    if (i % 4 === 0) await gate.complete(WORKER, { ...lease, result: { text: words(1_000) } })
    else if (i % 4 === 1)
      await gate.fail(WORKER, { ...lease, error: { code: 'BROKEN', message: words(40) }, retryable: false })
    else if (i % 4 === 2)
      await gate.reportProgress(WORKER, { ...lease, progress: { percent: i, message: words(10) } })
    else await gate.ask(WORKER, { ...lease, kind: 'input', request: { message: `Which one? ${words(10)}` } })
  }
}

const Text = z.looseObject({ content: z.tuple([z.looseObject({ text: z.string() })]) })

async function textOf(name: string, args: object = {}): Promise<string> {
  const { body } = await server.call(`asyncgate_${name}`, { agent_id: 'alice', ...args })
  expect(body?.result).not.toHaveProperty('structuredContent')
  expect(body?.result?.isError, name).not.toBe(true)
  return Text.parse(body?.result).content[0].text
}

const Tools = z.array(z.looseObject({ name: z.string() }))

async function listed(query: string) {
  const { body } = await postTo(server.url + query, modernPost('tools/list'))
  return Tools.parse(body?.result?.tools)
}

describe('the token budget of what a model reads', () => {
  it('each tool of each tool set costs what its pin says (if the change is intended, run with -u)', async () => {
    const lines: string[] = []
    for (const set of TOOL_SETS) {
      const tools = await listed(`?toolsets=${set}`)
      lines.push(`${set}: ${tools.length} tools, ${countTokens(JSON.stringify(tools))} tokens`)
      if (set !== 'all')
        lines.push(...tools.map((tool) => `  ${tool.name} ${countTokens(JSON.stringify(tool))}`))
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../pins/tool-tokens.txt')
  })

  it('the default list has at most 12 tools and 2,500 tokens', async () => {
    const tools = await listed('')
    expect(tools.length).toBeLessThanOrEqual(12)
    expect(countTokens(JSON.stringify(tools))).toBeLessThanOrEqual(DEFAULT_LIMIT)
  })

  it.each([
    ['list_tasks', 'tasks', 20],
    ['list_inbox', 'items', 15],
    ['list_receipts', 'receipts', 15],
    ['list_open_obligations', 'open_obligations', 15],
  ])('a page of %s is full and fits', async (name, member, rows) => {
    const text = await textOf(name)
    expect(JSON.parse(text)[member]).toHaveLength(rows)
    expect(countTokens(text)).toBeLessThanOrEqual(LIST_LIMIT)
  })

  it('a page of tasks has 20 rows and a cursor to the rest', async () => {
    const Page = z.object({ tasks: z.array(z.looseObject({ task_id: z.string() })), next_cursor: z.string() })
    const first = Page.parse(JSON.parse(await textOf('list_tasks')))
    expect(first.tasks).toHaveLength(20)
    const second = Page.parse(JSON.parse(await textOf('list_tasks', { cursor: first.next_cursor })))
    expect(new Set([...first.tasks, ...second.tasks].map(({ task_id }) => task_id)).size).toBe(40)
  })

  it('the digest of bootstrap fits', async () => {
    expect(countTokens(await textOf('bootstrap'))).toBeLessThanOrEqual(BOOTSTRAP_LIMIT)
  })

  it('a task with a long payload and a long result fits, and says how to read the rest', async () => {
    const page = JSON.parse(await textOf('list_tasks', { status: 'succeeded' }))
    const text = await textOf('get_task', { task_id: page.tasks[0].task_id })
    expect(countTokens(text)).toBeLessThanOrEqual(LIST_LIMIT)
    expect(JSON.parse(text)).toMatchObject({ result: { hint: expect.stringContaining('fetch_task_result') } })
  })
})

it('an error is one line that begins with its code', async () => {
  const { body } = await server.post(modernCall('asyncgate_get_task', { task_id: 'none', agent_id: 'alice' }))
  expect(body?.result).toMatchObject({ isError: true })
  expect(Text.parse(body?.result).content[0].text).toMatch(/^TASK_NOT_FOUND: [^\n]*list_tasks[^\n]*$/)
})
