import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { CLIENT_NAMES, MCP_CLIENTS } from '../../src/cli/commands/mcp/clients.ts'
import { toml } from '../../src/cli/commands/mcp/toml.ts'
import { commandsOf } from '../../src/cli/commands.ts'
import { cli } from '../cli/support.ts'
import { codeWords, markdownTable, repositoryText } from '../core/documents.ts'
import { blocksOf, proseOf } from './markdown.ts'

const ENV = { ASYNCGATE_URL: 'http://127.0.0.1:8080', HOME: '/home/you', XDG_CONFIG_HOME: '', CODEX_HOME: '' }
const START = 'npx asyncgate '

const pages = readdirSync(fileURLToPath(new URL('../../docs/clients', import.meta.url)))
const pageOf = (name: string) => repositoryText(`docs/clients/${name}`)

function commandsIn(page: string): string[][] {
  const blocks = blocksOf(page).flatMap(({ language, text }) => (language === 'sh' ? text.split('\n') : []))
  const inline = [...proseOf(page).matchAll(/`(npx asyncgate [^`]+)`/g)].map(([, command = '']) => command)
  return [...blocks, ...inline]
    .filter((line) => line.startsWith(START))
    .map((line) => line.slice(START.length).split(' '))
}

it('every client has a page', () => {
  expect(pages.toSorted()).toEqual(['README.md', ...CLIENT_NAMES.map((name) => `${name}.md`)].toSorted())
})

it.each(pages)('the commands of docs/clients/%s are accepted', async (name) => {
  const commands = commandsIn(pageOf(name))
  expect(commands.length).toBeGreaterThan(1)
  for (const args of commands) {
    const { code, stderr } = await cli([...args, '--help'], ENV)
    expect(code, `${args.join(' ')}\n${stderr}`).toBe(0)
    if (args.includes('--client')) expect(CLIENT_NAMES).toContain(args[args.indexOf('--client') + 1])
  }
})

describe.each(CLIENT_NAMES)('docs/clients/%s.md', (name) => {
  const page = pageOf(`${name}.md`)

  it('each block of settings is what mcp config prints for the command before it', async () => {
    const blocks = blocksOf(page)
    const settings = blocks.flatMap((block, i) => {
      const before = blocks[i - 1]
      return block.language === 'sh' || before === undefined ? [] : [{ ...block, command: before.text }]
    })
    expect(settings.length).toBeGreaterThan(0)
    for (const { language, text, command } of settings) {
      const args = command.slice(START.length).split(' ')
      const printed = await cli(['mcp', 'config', ...args.slice(2)], ENV)
      expect(printed).toMatchObject({ code: 0, stdout: `${text}\n` })
      if (language === 'json') expect(JSON.parse(text)).toBeTypeOf('object')
      else expect(toml.set(text, ['other'], {})).toContain(text)
    }
  })

  it('the page and the table of clients name the files that are written', () => {
    const row = markdownTable(pageOf('README.md'), 'Client').find((cells) =>
      codeWords(cells.Name ?? '').includes(name),
    )
    const { title, scopes } = MCP_CLIENTS[name]
    expect(row?.Client).toBe(`[${title}](${name}.md)`)
    const place = { env: { HOME: '~' }, platform: 'linux', cwd: '.', exists: () => false } as const
    for (const [i, [scope, locate]] of scopes.entries()) {
      const { file } = locate(place)
      const cell = row?.[scope === 'user' ? 'Settings of the user' : 'Settings of a project'] ?? ''
      const isNamed = codeWords(cell).some((word) => file === word || file.endsWith(`/${word}`))
      expect(isNamed, `${cell} for ${file}`).toBe(true)
      expect(cell.includes('(default)'), cell).toBe(i === 0 && scopes.length > 1)
      expect(page).toContain(file.split('/').at(-1))
    }
  })
})

it('the options of docs/clients/README.md are those of mcp add', async () => {
  const add = (await commandsOf('mcp')).find(({ name }) => name === 'mcp add')
  const documented = markdownTable(pageOf('README.md'), 'Option')
    .flatMap(({ Option = '' }) => codeWords(Option))
    .flatMap((word) => /^--([\w-]+)/.exec(word)?.[1] ?? [])
  const own = Object.keys(add?.options ?? {}).filter((option) => !['client', 'json', 'help'].includes(option))
  expect([...new Set(documented)].toSorted()).toEqual(own.toSorted())
})
