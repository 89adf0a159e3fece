import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readPoliciesFile } from '../../src/cli/policies-file.ts'
import { CONDITION_ROOTS, compileCondition } from '../../src/policy/condition.ts'
import { ruleRecord } from '../../src/policy/rule.ts'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { codeWords, markdownTable, repositoryText } from '../core/documents.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/policy.md')
const blocks = blocksOf(page)

/** The words of a command as a shell reads them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

it('the commands of docs/policy.md work, one after the other', async () => {
  const home = testFolder()
  const file = join(home, 'policies.yaml')
  writeFileSync(file, blocks.find(({ language }) => language === 'yaml')?.text ?? '')
  expect((await readPoliciesFile(file)).rules.map(({ id }) => id)).toEqual(['no-delete', 'secrets'])

  const server = await startServer(['dev'], home)
  const run = (args: readonly string[]) => cli(args, { ASYNCGATE_URL: server.url })
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n'))
  expect(lines.length).toBeGreaterThan(15)
  const said: string[] = []
  for (const line of lines) {
    const [, ...args] = wordsOf(line.replace('policies.yaml', file))
    const ended = await run(args)
    expect(ended, line).toMatchObject({ code: 0, stderr: '' })
    said.push(ended.stdout)
  }
  const told = said.join('\n')
  const shown = blocks.find(({ language }) => language === 'text')?.text
  expect(told).toContain(shown)
  expect(told).toContain('BLOCK: Rule no-pointers blocks this.')
  expect(told).toContain('REQUIRE_APPROVAL: Rule large says that this needs approval.')
  expect(told).toContain('(plate) was seen')
  expect(told).toMatch(/^BLOCK: Rule no-delete \(Agents delete nothing\) blocks this\.$/m)
  expect(told).toContain('"card":"[REDACTED]"')
  expect(told).toContain('"password":"[REDACTED]"')
  expect(told).toContain('policy.changed')
  await server.stop()
})

it('docs/policy.md explains every field of a rule', () => {
  const fields = markdownTable(page, 'Field').map(({ Field = '' }) => codeWords(Field)[0])
  expect(fields.sort()).toEqual(Object.keys(ruleRecord.shape).sort())
})

it('docs/policy.md explains every variable of a condition', () => {
  const variables = markdownTable(page, 'Variable').flatMap(({ Variable = '' }) => codeWords(Variable))
  expect(variables.sort()).toEqual([...CONDITION_ROOTS].sort())
})

it('the conditions of docs/policy.md are conditions', () => {
  const json = blocks.filter(({ language }) => language === 'json')
  expect(json).not.toEqual([])
  for (const { text } of json) expect(() => compileCondition(JSON.parse(text))).not.toThrow()
})
