import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readTypesFile } from '../../src/cli/types-file.ts'
import { registerTaskTypeInput } from '../../src/gate/task-types-shape.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/task-types.md')

function blockOf(language: string, part: string): string {
  const found = blocksOf(page).find((block) => block.language === language && block.text.includes(part))
  if (found === undefined) throw new Error(`docs/task-types.md has lost its ${language} block`)
  return found.text
}

it('the file of docs/task-types.md is one, and its commands work with it', async () => {
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

it('docs/task-types.md explains every field of a type', () => {
  const fields = Object.keys(registerTaskTypeInput.shape).filter((name) => name !== 'type')
  expect(fields.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
