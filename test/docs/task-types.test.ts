import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { registerTaskTypeInput } from '../../src/features/task-types/shape.ts'
import { readTypesFile, registerTypes } from '../../src/server/operator-files.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { admin } from '../support/gates.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/task-types.md')

function blockOf(language: string, part: string): string {
  const found = blocksOf(page).find((block) => block.language === language && block.text.includes(part))
  if (found === undefined) throw new Error(`docs/task-types.md has lost its ${language} block`)
  return found.text
}

it('the file of docs/task-types.md is valid, and its commands work with it', async () => {
  const home = testFolder()
  const file = join(home, 'types.yaml')
  writeFileSync(file, blockOf('yaml', 'type: model_consultation'))
  expect((await readTypesFile(file)).map(({ type }) => type)).toEqual([
    'model_consultation',
    'document_index',
    'image_analysis',
  ])
  const server = await startServer(['dev'], home)
  const commands = blockOf('sh', 'asyncgate types')
    .split('\n')
    .map((line) => line.replace(/ *#.*/, ''))
    .filter((line) => line !== '')
  expect(commands.length).toBeGreaterThan(4)
  for (const line of commands) {
    const args = line
      .replace(/^asyncgate /, '')
      .replace('types.yaml', file)
      .split(' ')
    const ended = await cli(args, { ASYNCGATE_URL: server.url })
    expect(ended, line).toMatchObject({ code: 0, stderr: '' })
  }
  await server.stop()
})

it('the seed types can be registered and have the documented channels and retention', async () => {
  const types = await readTypesFile(join(import.meta.dirname, '../../docs/seed-types.yaml'))
  const summary = types.map((type) => [
    type.type,
    type.result_channel,
    type.retention_days,
    type.default_priority,
    type.default_max_attempts,
    type.default_timeout_seconds,
    type.estimated_runtime_seconds,
    type.poll_suggestion_seconds,
    type.max_payload_bytes,
  ])
  expect(summary).toEqual([
    ['model_consultation', 'email', 30, 5, 4, 600, 120, 60, 10485760],
    ['document_index', 's3', 30, 3, 2, 7200, 3600, 600, undefined],
    ['image_analysis', 'blob', 30, 5, 4, 1800, 900, 300, 52428800],
  ])
  const gate = openGate({ store: await openSqliteStore({ path: ':memory:' }), sweeping: false })
  onTestFinished(() => gate.close())
  await registerTypes(gate, types)
  expect((await gate.listTaskTypes(admin())).task_types.map(({ type }) => type)).toEqual([
    'document_index',
    'image_analysis',
    'model_consultation',
  ])
})

it('docs/task-types.md explains every field of a type', () => {
  const fields = Object.keys(registerTaskTypeInput.shape).filter((name) => name !== 'type')
  expect(fields.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
