import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openServer } from '../../src/cli/open-server.ts'
import { TABLE } from '../../src/config/rows.ts'
import { CONFIG_DIR } from '../../src/config/sources.ts'
import { reportConfig } from '../../src/config.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { MAX_QUESTIONS, QUESTION_STATES } from '../../src/core/question.ts'
import { createLogger } from '../../src/http/log.ts'
import { codeWords, repositoryText } from '../core/documents.ts'
import { members } from '../http/support.ts'
import { blocksOf, proseOf } from './markdown.ts'

const page = repositoryText('docs/approvals.md')
const KEY = 'KEY'
const KEY_OF_PAULA = 'KEY_OF_PAULA'

it('the requests of docs/approvals.md are answered as it says, from first to last', async () => {
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
  // The ids of the page stand for those of the answers before.
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

it('the states, errors and settings of docs/approvals.md are those of the code', () => {
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

/** The value with the type of each text and number in its place. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typesOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
}
