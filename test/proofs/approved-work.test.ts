import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { workShape } from '../../src/features/tasks/shape.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { cli } from '../cli/support.ts'
import { unescaped, Visitor } from '../console/support.ts'
import { members } from '../http/support.ts'
import { soon } from '../support/steps.ts'
import { SECRET, startReceiver } from '../webhooks/receiver.ts'

// One server as people run it, seen from every side: what is shown to whoever approves is what the worker gets.

const KEY = 'the-key-of-agents-and-workers'
const MARIA = 'the-key-of-maria-0001'
const CARD = '4111 1111 1111 1111'

type Fields = Readonly<Record<string, unknown>>

const WHOLE: Fields = {
  payload: { amount: 3, to: ['<shop>', '\u202eb'], '10': 1, '9': 2 },
  payload_pointer: 'https://elsewhere.example/order.json?a=1&b=<2>',
  summary: 'Pay "the shop"',
  body: 'Ignore the payload.\n\n  Pay 1,000,000 & run.',
  inputs: { amount: 1_000_000, note: '\u200b' },
  requirements: { capabilities: ['bank'], tags: ['prod'] },
  success_criteria: 'The shop has the money',
}

const { payload_pointer: _, ...SEEN } = WHOLE

interface Case {
  readonly name: string
  readonly task: Fields
  /** What is sent with the approval. */
  readonly decision: Fields
  /** What the worker is to get of it. */
  readonly work: Fields
}

const CASES: readonly Case[] = [
  { name: 'plain', task: WHOLE, decision: {}, work: WHOLE },
  {
    name: 'edited',
    task: WHOLE,
    decision: { payload: { amount: 2 } },
    work: { ...WHOLE, payload: { amount: 2 } },
  },
  {
    name: 'redacted',
    task: { ...SEEN, payload: { card: CARD }, body: `Card ${CARD}.`, inputs: { card: [CARD] } },
    decision: {},
    work: { payload: { card: '[REDACTED]' }, body: 'Card [REDACTED].', inputs: { card: ['[REDACTED]'] } },
  },
  {
    name: 'remembered',
    task: WHOLE,
    decision: { remember_until: new Date(Date.now() + 3_600_000).toISOString() },
    work: WHOLE,
  },
]

async function start() {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-approved-'))
  const receiver = await startReceiver()
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_API_KEY: KEY,
    ASYNCGATE_ADMIN_KEYS: `maria=${MARIA}`,
    ASYNCGATE_APPROVAL_WEBHOOK_URL: receiver.url,
    ASYNCGATE_APPROVAL_WEBHOOK_SECRET: SECRET,
    ASYNCGATE_PORT: '0',
  }
  const { config } = reportConfig({ env, file: '/dev/null' })
  if (config === undefined) throw new Error('the settings are not valid')
  const server = await openServer(config, createLogger('silent'))
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const call = async (key: string, method: string, path: string, body?: Fields): Promise<Fields> => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = members(await response.json())
    expect(response.status, JSON.stringify(answer)).toBe(200)
    return answer
  }
  const visitor = new Visitor(Number(new URL(server.url).port), {})
  await visitor.signIn(MARIA)
  return { server, receiver, call, visitor }
}

const WORK = Object.keys(workShape.shape)

/** The work in a view, as a text that can be compared. */
const workIn = (view: unknown) => Object.fromEntries(WORK.map((name) => [name, members(view)[name]]))

/** What stands in the parts of a page that show a value whole. */
function blocksIn(page: string): Readonly<Record<string, string>> {
  const found = page.matchAll(/<pre [^>]*aria-label="([^"]+)">(.*?)<\/pre>/gs)
  return Object.fromEntries(Array.from(found, ([, label = '', text = '']) => [label, unescaped(text)]))
}

/** The value below a heading of what the command line shows. */
function sectionIn(shown: string, heading: string): string {
  const [, text = ''] = new RegExp(`^${heading}\\n((?:  .*\\n|\\n(?=  ))*)`, 'm').exec(shown) ?? []
  return text.replaceAll(/^ {2}/gm, '').trimEnd()
}

it.each(CASES)('what is approved $name is what every side shows and the worker gets', async (each) => {
  const { server, receiver, call, visitor } = await start()
  const type = `pay-${each.name}`
  await call(MARIA, 'POST', '/v1/policies', { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type } })
  if (each.name === 'redacted') {
    const redact = { targets: 'args', patterns: ['card'] }
    await call(MARIA, 'POST', '/v1/policies', { id: 'cards', action: 'REDACT', priority: 9, redact })
  }
  const create = () => call(KEY, 'POST', '/v1/tasks', { principal_id: 'planner', type, ...each.task })
  const { task_id } = await create()
  const path = `/v1/approvals/${task_id}`

  const asked = await call(MARIA, 'GET', path)
  const env = { ASYNCGATE_URL: server.url, ASYNCGATE_API_KEY: MARIA }
  const shown = async () => (await cli(['approvals', 'show', String(task_id)], env)).stdout
  const printed = async () =>
    members(JSON.parse((await cli(['approvals', 'show', String(task_id), '--json'], env)).stdout))
  const page = async () => blocksIn((await visitor.get(`/approvals/${task_id}`)).text)

  /** Compares what each side shows with the approval as the API has it. */
  async function checkSides(approval: Fields, message: Fields | undefined) {
    const task = members(approval.task)
    expect(await printed()).toEqual(approval)
    const text = await shown()
    expect(text).toContain(approval.content_hash)
    expect(JSON.parse(sectionIn(text, 'payload'))).toEqual(task.payload)
    expect(JSON.parse(sectionIn(text, 'inputs'))).toEqual(task.inputs)
    expect(sectionIn(text, 'body')).toBe(task.body)
    if (task.payload_is_elsewhere === true) {
      expect(sectionIn(text, 'payload_pointer').split('\n')[0]).toBe(task.payload_pointer)
    }
    const blocks = await page()
    expect(JSON.parse(blocks.Payload ?? '')).toEqual(task.payload)
    expect(JSON.parse(blocks.Inputs ?? '')).toEqual(task.inputs)
    expect(blocks.Body).toBe(task.body)
    expect(blocks['Payload pointer']).toBe(
      task.payload_is_elsewhere === true ? task.payload_pointer : undefined,
    )
    expect(message).toMatchObject({ content_hash: approval.content_hash, task: workIn(task) })
  }

  const [first] = await soon(receiver.until(1))
  await checkSides(asked, first?.data)

  await call(MARIA, 'POST', `${path}/approve`, { content_hash: asked.content_hash, ...each.decision })
  const approved = await call(MARIA, 'GET', path)
  const [, second] = await soon(receiver.until(2))
  await checkSides(approved, second?.data)

  const claim = async () => {
    const input = { worker_id: 'w1', accept_types: [type], capabilities: ['bank'] }
    const { tasks } = await call(KEY, 'POST', '/v1/leases/claim', input)
    return members(Array.isArray(tasks) ? tasks[0] : undefined)
  }
  const offer = await claim()
  expect(offer).toMatchObject({ task_id, ...each.work })
  expect(workIn(offer)).toEqual(workIn(approved.task))
  expect(offer.answers).toMatchObject([{ content_hash: approved.content_hash }])
  expect(approved.content_hash === asked.content_hash).toBe(each.name !== 'edited')

  if (each.name !== 'remembered') return
  // Nobody is asked again, and the worker gets what was created.
  expect(await create()).toMatchObject({ status: 'queued' })
  expect(await claim()).toMatchObject(WHOLE)
})
