import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { MAX_POLL_MS, MIN_POLL_MS } from '../../src/mcp/tasks/poll-interval.ts'
import { MAX_TASK_IDS } from '../../src/mcp/transport/subscription.ts'
import { startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from '../docs/markdown.ts'

const page = repositoryText('docs/mcp-tasks.md')

function blockOf(language: string): string {
  const found = blocksOf(page).find((block) => block.language === language)
  if (found === undefined) throw new Error(`docs/mcp-tasks.md has lost its ${language} block`)
  return found.text
}

const Reply = z.object({ result: z.looseObject({}) })

it('the commands of docs/mcp-tasks.md print what the page says', async () => {
  const home = testFolder()
  writeFileSync(join(home, 'types.yaml'), blockOf('yaml'))
  const server = await startServer(['dev'], home, { ASYNCGATE_TASK_TYPES_FILE: 'types.yaml' })
  const script = blockOf('sh').replace('http://127.0.0.1:8080', server.url)
  const { stdout } = await promisify(execFile)('bash', ['-euc', script])
  await server.stop()
  const replies = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Reply.parse(JSON.parse(line)).result)
  expect(replies).toHaveLength(3)
  const [handle, seen, ack] = replies
  CreateTaskResultV2Schema.parse(handle)
  GetTaskResultV2Schema.parse(seen)
  expect(handle).toMatchObject({ resultType: 'task', status: 'working' })
  expect(seen).toMatchObject({
    status: 'completed',
    result: { content: [{ type: 'text', text: '{"echo":{"hello":"world"}}' }] },
  })
  expect(ack).toEqual({ resultType: 'complete', _meta: expect.anything() })
}, 60_000)

it('docs/mcp-tasks.md states the limits of the code', () => {
  for (const limit of [`${MAX_TASK_IDS} tasks`, `${MIN_POLL_MS} ms`, `${MAX_POLL_MS / 1000} s`]) {
    expect(page).toContain(limit)
  }
})
