import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findCommand } from '../../../src/cli/commands.ts'
import { TABLE } from '../../../src/config/table.ts'
import { ERRORS } from '../../../src/core/errors.ts'
import { fileUpstream } from '../../../src/features/upstreams/shape.ts'
import { readUpstreamsFile } from '../../../src/server/operator-files.ts'
import { markdownTable, repositoryText } from '../../core/documents.ts'
import { blocksOf } from '../../docs/markdown.ts'
import { folder } from './support.ts'

const page = repositoryText('docs/gateway.md')
const blocks = (language: string) => blocksOf(page).filter((block) => block.language === language)

it('the files of docs/gateway.md are valid', () => {
  const read = blocks('yaml').map(({ text }) => {
    const path = join(folder(), 'upstreams.yaml')
    writeFileSync(path, text)
    return readUpstreamsFile(path).map(({ tenant, record }) => ({ tenant, ...record }))
  })
  expect(read).toMatchObject([
    [{ name: 'files' }, { name: 'issues' }, { name: 'search' }],
    [{ name: 'shop', retry: 'idempotent', tools: { retry: { 'get_*': 'always', send_receipt: 'never' } } }],
    [{ name: 'browser', isolation: 'per_session' }],
  ])
})

it('the commands of docs/gateway.md exist, with their options', async () => {
  const lines = blocks('sh').flatMap(({ text }) => text.trim().split('\n'))
  expect(lines.length).toBeGreaterThan(4)
  for (const line of lines) {
    const words = line
      .replace(/#.*/, '')
      .replace(/^[A-Z_]+=\S+ /, '')
      .trim()
      .split(/\s+/)
      .slice(1)
    const found = await findCommand(words)
    if (found === undefined) throw new Error(`there is no command for ${line}`)
    const { options } = found.command
    const own = found.args.slice(0, (found.args.indexOf('--') + 1 || found.args.length + 1) - 1)
    for (const word of own.filter((each) => each.startsWith('--'))) {
      expect(Object.keys(options)).toContain(word.slice(2))
    }
  }
})

it('the defaults, errors and settings of docs/gateway.md match the code', () => {
  const transport = { type: 'stdio', command: 'x' }
  const defaults: Readonly<Record<string, unknown>> = fileUpstream.parse({ name: 'a', transport })
  const plain = (cell = '') => cell.replaceAll('`', '')
  const documented = markdownTable(page, 'Field').map(({ Field, Default }) => [plain(Field), plain(Default)])
  for (const field of [
    'enabled',
    'pinned',
    'timeout_ms',
    'connect_timeout_ms',
    'concurrency',
    'isolation',
    'max_session_connections',
    'max_result_bytes',
  ]) {
    expect(documented).toContainEqual([field, String(defaults[field])])
  }
  for (const [, code = ''] of page.matchAll(/`((?:UPSTREAM|SESSION)_[A-Z_]+)`/g))
    expect(ERRORS).toHaveProperty(code)
  const variables = TABLE.map(({ variable }) => variable)
  for (const [name] of page.matchAll(/ASYNCGATE_[A-Z_]+/g)) expect(variables).toContain(name)
})

it('the limits of docs/gateway.md match the code', () => {
  const limits = markdownTable(page, 'Setting').map(({ Setting = '', Default }) => [
    Setting.replaceAll('`', ''),
    Default,
  ])
  const documented = limits.filter(([name = '']) => name.startsWith('ASYNCGATE_'))
  expect(documented.length).toBe(5)
  for (const [name, fallback] of documented) {
    const row = TABLE.find(({ variable }) => variable === name)
    expect([name, String(row?.fallback)]).toEqual([name, fallback])
  }
})
