import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { CONFIG_DIR } from '../../src/config/sources.ts'
import { TABLE } from '../../src/config/table.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { MAX_QUESTIONS, QUESTION_STATES } from '../../src/core/question.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { codeWords, repositoryText } from '../core/documents.ts'
import { members } from '../http/support.ts'
import { blocksOf, proseOf } from './markdown.ts'

const page = repositoryText('docs/approvals.md')
const KEY = 'KEY'
const KEY_OF_PAULA = 'KEY_OF_PAULA'

it('the requests of docs/approvals.md get the documented responses, in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-approvals-'))
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_API_KEY: KEY,
    ASYNCGATE_PORT: '0',
  }
  const { config } = reportConfig({ env, file: '/dev/null' })
  if (config === undefined) throw new Error('the settings are not valid')
  const server = await openServer(config, createLogger('silent'), {
    localKey: { name: 'paula', key: KEY_OF_PAULA },
  })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const blocks = blocksOf(page)
  const requests = blocks.filter(({ language }) => language === 'http')
  expect(requests.length).toBeGreaterThan(7)
  // The ids of the page stand for those of earlier responses.
  let ids: Readonly<Record<string, unknown>> = {}
  let last: Readonly<Record<string, unknown>> = {}
  for (const [i, { language, text }] of blocks.entries()) {
    if (language !== 'http') continue
    const [head = '', body] = text.split('\n\n')
    const [method = '', path = ''] = head.split('\n')[0]?.split(' ') ?? []
    const given = body === undefined ? undefined : { ...members(JSON.parse(body)) }
    for (const name of Object.keys(given ?? {}))
      if (given !== undefined && name in ids) given[name] = ids[name]
    const response = await fetch(server.url + path.replace('{task_id}', String(ids.task_id)), {
      method,
      headers: {
        authorization: `Bearer ${head.includes(KEY_OF_PAULA) ? KEY_OF_PAULA : KEY}`,
        'content-type': 'application/json',
      },
      ...(given !== undefined && { body: JSON.stringify(given) }),
    })
    last = members(await response.json())
    expect(response.status, `${text}\n${JSON.stringify(last)}`).toBe(200)
    const next = blocks[i + 1]
    if (next?.language === 'json') expect(typesOf(last)).toEqual(typesOf(JSON.parse(next.text)))
    const [offer] = Array.isArray(last.tasks) ? last.tasks : []
    const { task_id = ids.task_id, lease_id = ids.lease_id } = { ...last, ...members(offer ?? {}) }
    ids = { task_id, lease_id }
    if (path === '/v1/leases/claim' && String(body).includes('w2')) {
      expect(offer).toMatchObject({
        payload: { keep: ['*.md'] },
        answers: [{ n: 1, state: 'approved', answer: { comment: 'Keep the summaries.' } }],
      })
    }
  }
  expect(last).toMatchObject({ n: 2, state: 'answered', status: 'queued' })
})

it('the commands of docs/approvals.md work in order', async () => {
  const server = await startServer(['dev'], testFolder())
  onTestFinished(async () => {
    await server.stop()
  })
  const post = async (path: string, body: object) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    return members(await response.json())
  }
  /** A task that waits for an answer to this kind of question. */
  const asking = async (question: object) => {
    const { task_id } = await post('/v1/tasks', { type: 'clean-up', principal_id: 'planner' })
    const { tasks } = await post('/v1/leases/claim', { worker_id: 'w1' })
    const { lease_id } = members(Array.isArray(tasks) ? tasks[0] : undefined)
    await post(`/v1/tasks/${task_id}/ask`, { worker_id: 'w1', task_id, lease_id, ...question })
    return String(task_id)
  }
  const approval = { kind: 'approval', request: { title: 'Delete it?' } }
  const toApprove = await asking(approval)
  const toDeny = await asking(approval)
  const toAnswer = await asking({ kind: 'input', request: { message: 'Where to?' } })
  const idFor = (line: string) =>
    line.includes('deny') ? toDeny : line.includes('tasks answer') ? toAnswer : toApprove

  const lines = Array.from(page.matchAll(/^ {4}asyncgate (.*)$/gm), ([, line = '']) => line)
  expect(lines).toHaveLength(5)
  const said: string[] = []
  for (const line of lines) {
    const words = Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')
    const args = words.map((word) => (word === 'TASK_ID' ? idFor(line) : word))
    const ended = await cli(args, { ASYNCGATE_URL: server.url })
    expect(ended, line).toMatchObject({ code: 0, stderr: '' })
    said.push(ended.stdout)
  }
  const printed = said.join('\n')
  expect(printed).toContain(`asyncgate approvals approve ${toApprove} --content-hash sha256:`)
  expect(printed).toContain('Approved: Delete it?')
  expect(printed).toContain('Denied: Delete it?')
  expect(printed).toContain('Answered.')
  const [, section = ''] = /^## At the command line\n(.*?)^## /ms.exec(page) ?? []
  const options = new Set(Array.from(section.matchAll(/--[a-z][a-z-]+/g), ([option]) => option))
  const help = await Promise.all(
    ['approve', 'deny'].map((verb) => cli(['approvals', verb, '--help']).then(({ stdout }) => stdout)),
  )
  expect([...options].filter((option) => !help.join('\n').includes(`${option} `))).toEqual([])
})

it('the states, errors and settings of docs/approvals.md match the code', () => {
  const prose = proseOf(page).replaceAll('\n', ' ')
  const [states = ''] = /`state` is one of .*?, if/.exec(prose) ?? []
  expect(codeWords(states)).toEqual(['state', ...QUESTION_STATES])
  expect(prose).toContain(`up to ${MAX_QUESTIONS} questions`)
  const errors = new Set(Object.keys(ERRORS))
  const ofTasks = ['APPROVAL_DENIED', 'APPROVAL_EXPIRED', 'INPUT_EXPIRED']
  const named = [...prose.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code = '']) => code)
  const settings = named.filter((code) => code.startsWith('ASYNCGATE_'))
  expect(
    named.filter((code) => !errors.has(code) && !ofTasks.includes(code) && !settings.includes(code)),
  ).toEqual([])
  const known = [CONFIG_DIR, ...TABLE.map(({ variable }) => variable)]
  expect(settings.filter((name) => !known.includes(name))).toEqual([])
})

/** The value with each text and number replaced by its type. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typesOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
}
