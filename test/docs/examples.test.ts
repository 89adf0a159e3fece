import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writtenByHand } from '../../scripts/protocol/page.ts'
import { reportConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { repositoryText } from '../core/documents.ts'
import { members } from '../http/support.ts'
import { blocksOf } from './markdown.ts'

type Members = Readonly<Record<string, unknown>>

interface Example {
  readonly request: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Members
  /** The documented response. */
  readonly answer: unknown
}

const KEY = 'KEY'

const folder = mkdtempSync(join(tmpdir(), 'asyncgate-examples-'))
let server: OpenServer

beforeAll(async () => {
  const { config } = reportConfig({
    env: {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_API_KEY: KEY,
      ASYNCGATE_PORT: '0',
    },
    file: '/dev/null',
  })
  if (config === undefined) throw new Error('the settings are not valid')
  // As `asyncgate serve` does in development.
  const localKey = { name: 'paula', key: 'the local key of paula' }
  server = await openServer(config, createLogger('silent'), { localKey })
})

afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

it('the requests of docs/protocol.md get the documented responses, in order', async () => {
  const examples = postsOf(writtenByHand(repositoryText('docs/protocol.md')))
  expect(examples.length).toBeGreaterThan(6)
  // The tasks for the two workers.
  await post('/v1/tasks', { type: 'code.generate', inputs: { language: 'python' }, summary: 'Parse a file' })
  await post('/v1/tasks', { type: 'embed', payload: { text: 'hello' } })
  // The ids of the page stand for those of the previous response.
  let last: Members = {}
  for (const { request, headers, body, answer } of examples) {
    const path = request.replace(/\{(\w+)\}/g, (_, name: string) => String(last[name]))
    const ids = Object.entries(last).filter(([name]) => name in body)
    const given = await post(path, { ...body, ...Object.fromEntries(ids) }, headers)
    if (answer !== undefined) expect(typesOf(given), request).toEqual(typesOf(answer))
    const { task_id, lease_id, run_id } = { ...members(given), ...members(members(given).task) }
    const named = Object.entries({ task_id, lease_id, run_id }).filter(([, id]) => id !== undefined)
    last = { ...last, ...Object.fromEntries(named) }
  }
})

async function post(path: string, body: Members, headers: Example['headers'] = []): Promise<unknown> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: [['authorization', `Bearer ${KEY}`], ['content-type', 'application/json'], ...headers].map(
      ([name = '', value = '']): [string, string] => [name, value],
    ),
    body: JSON.stringify(body),
  })
  const answer: unknown = await response.json()
  expect(response.status, `${path}: ${JSON.stringify(answer)}`).toBe(200)
  expect(members(members(answer).result).isError, JSON.stringify(answer)).toBeUndefined()
  return answer
}

/** Each POST block with the JSON block after it. */
function postsOf(page: string): Example[] {
  const blocks = blocksOf(page).filter(({ language }) => language !== 'text')
  return blocks.flatMap(({ language, text }, i) => {
    const [head = '', body = ''] = text.split('\n\n')
    const [line = '', ...headers] = head.split('\n')
    if (language !== 'http' || !line.startsWith('POST ')) return []
    const next = blocks[i + 1]
    return [
      {
        request: line.slice('POST '.length),
        headers: headers
          .map((header) => header.split(': '))
          .map(([name = '', value = '']) => [name.toLowerCase(), value] as const)
          .filter(([name]) => name !== 'authorization' && name !== 'content-type'),
        body: members(JSON.parse(body)),
        answer: next?.language === 'json' ? JSON.parse(next.text) : undefined,
      },
    ]
  })
}

/** The value with each text and number replaced by its type. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typesOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
}
