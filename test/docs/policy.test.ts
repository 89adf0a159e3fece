import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BUILT_IN_PATTERNS } from '../../src/policy/built-in-patterns.ts'
import { compileCondition } from '../../src/policy/condition.ts'
import { CONDITION_ROOTS } from '../../src/policy/condition-data.ts'
import { OUTCOMES } from '../../src/policy/forecast.ts'
import { parsePath } from '../../src/policy/path.ts'
import { ruleRecord } from '../../src/policy/rule.ts'
import { readPoliciesFile } from '../../src/server/operator-files.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { codeWords, markdownTable, repositoryText } from '../core/documents.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/policy.md')
const blocks = blocksOf(page)

/** The words of a command as a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** The lines of a table, with normalized widths. Rules of other examples on the page may appear between them. */
function cellsOf(text: string): string[] {
  return text.split('\n').map((line) => line.trim().replace(/\s+/g, ' '))
}

/** The paragraph that contains these words. */
function paragraphWith(words: string): string {
  const found = page.split('\n\n').find((each) => each.includes(words))
  if (found === undefined) throw new Error(`docs/policy.md does not say: ${words}`)
  return found
}

it('the commands of docs/policy.md work in order and print what the page shows', async () => {
  const home = testFolder()
  const file = join(home, 'policies.yaml')
  writeFileSync(file, blocks.find(({ language }) => language === 'yaml')?.text ?? '')
  expect((await readPoliciesFile(file)).rules.map(({ id }) => id)).toEqual(['no-delete', 'secrets'])

  const server = await startServer(['dev'], home)
  const run = (args: readonly string[]) => cli(args, { ASYNCGATE_URL: server.url })
  let [commands, shown, last, printed] = [0, 0, '', '']
  for (const { language, text } of blocks) {
    if (language === 'text') {
      expect(cellsOf(last)).toEqual(expect.arrayContaining(cellsOf(text)))
      shown += 1
    }
    if (language !== 'sh') continue
    last = ''
    for (const line of text.split('\n')) {
      const [program, ...args] = wordsOf(line.replace('policies.yaml', file))
      expect(program).toBe('asyncgate')
      const ended = await run(args)
      expect(ended, line).toMatchObject({ code: 0, stderr: '' })
      last += ended.stdout
      commands += 1
    }
    printed += last
  }
  expect([commands, shown]).toEqual([28, 5])
  expect(printed).toContain('BLOCK: Rule no-pointers blocks this.')
  expect(printed).toContain('REQUIRE_APPROVAL: Rule large says that this needs approval.')
  expect(printed).toMatch(/^BLOCK: Rule no-delete \(Agents delete nothing\) blocks this\.$/m)
  expect(printed).toContain('policy.changed')
  const { tasks } = JSON.parse((await run(['tasks', 'list', '--type', 'buy', '--json'])).stdout)
  expect(tasks).toMatchObject([
    {
      status: 'pending_approval',
      policy: { action: 'REQUIRE_APPROVAL', rule_id: 'expensive', redacted_fields: [] },
    },
  ])
  await server.stop()
})

it('docs/policy.md explains every field of a rule and every outcome of a tool', () => {
  const fields = markdownTable(page, 'Field').map(({ Field = '' }) => codeWords(Field)[0])
  expect(fields.sort()).toEqual(Object.keys(ruleRecord.shape).sort())
  const outcomes = markdownTable(page, 'Outcome').map(({ Outcome = '' }) => codeWords(Outcome)[0])
  expect(outcomes).toEqual([...OUTCOMES])
})

it('docs/policy.md explains every variable of a condition', () => {
  const variables = markdownTable(page, 'Variable').flatMap(({ Variable = '' }) => codeWords(Variable))
  expect(variables.sort()).toEqual([...CONDITION_ROOTS].sort())
})

it('docs/policy.md names the built-in patterns', () => {
  const [, list = ''] =
    /The built-in patterns are (.*?)\. Add/s.exec(paragraphWith('The built-in patterns are')) ?? []
  expect(codeWords(list)).toEqual(BUILT_IN_PATTERNS.map(({ name }) => name))
})

it('the conditions of docs/policy.md are valid', () => {
  const json = blocks.filter(({ language }) => language === 'json').map(({ text }) => text)
  const inline = [...page.matchAll(/`(\{"(?:and|or|>|<).*?\})`/g)].map(([, text = '']) => text)
  expect(json.length * inline.length).toBeGreaterThan(0)
  for (const text of [...json, ...inline]) expect(() => compileCondition(JSON.parse(text))).not.toThrow()
})

it('the paths of docs/policy.md are valid', () => {
  const paths = [...page.matchAll(/`(\$[.[][^`]+)`/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(5)
  for (const path of paths) expect(() => parsePath(path), path).not.toThrow()
})
