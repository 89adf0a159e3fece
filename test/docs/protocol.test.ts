import { describe, expect, it } from 'vitest'
import { updatedPage, writtenByHand } from '../../scripts/protocol/page.ts'
import { fieldsOf, schemaOf } from '../../scripts/protocol/schema.ts'
import { whoMayCall } from '../../scripts/protocol/who.ts'
import { callerOf } from '../../src/auth/caller.ts'
import type { Credential } from '../../src/auth/credential.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { openApi } from '../../src/http/openapi/openapi.ts'
import { ENDPOINTS } from '../../src/http/routes.ts'
import { repositoryText } from '../core/documents.ts'
import { proseOf } from './markdown.ts'

const page = repositoryText('docs/protocol.md')
const prose = proseOf(writtenByHand(page))

const SHARED: Credential = { kind: 'shared', tenant: 'default' }
const PERSON: Credential = {
  kind: 'bound',
  tenant: 'default',
  principal: { kind: 'human', id: 'paula' },
  role: 'admin',
}

describe('generated part of docs/protocol.md', () => {
  it('the page matches the catalogue (node --import tsx scripts/protocol.ts writes it)', async () => {
    expect(page).toBe(await updatedPage(page))
  })

  it('the documented callers match the decisions of the gate', async () => {
    const callers = await whoMayCall()
    const of = (who: string) => [...callers].filter(([, words]) => words === who).map(([name]) => name)
    expect(of('people')).toEqual(['approve', 'deny'])
    expect(of('admins')).toEqual(
      expect.arrayContaining(['put_policy', 'add_upstream', 'register_task_type', 'drain_worker']),
    )
    expect(of('workers')).toEqual(expect.arrayContaining(['lease_next', 'complete', 'ask']))
    expect(of('agents')).toEqual(expect.arrayContaining(['create_task', 'answer_question']))
    const self = [
      'list_open_obligations',
      'bootstrap',
      'list_receipts',
      'list_inbox',
      'mark_inbox',
      'inbox_stats',
    ]
    expect(of('all callers'), 'operations that all callers may call').toEqual(expect.arrayContaining(self))
    expect(page).toMatch(/^\| \[put_policy\].*\| admins \|$/m)
    expect(page).toMatch(/^\| \[approve\].*\| people \|$/m)
  })

  it('every operation has a section', () => {
    for (const { name, rest } of OPERATIONS) {
      expect(page).toContain(`\n### ${name}\n`)
      expect(page).toContain(`\`${rest.method} ${rest.path}\` · MCP \`asyncgate_${name}\``)
    }
  })

  it('every field of every operation has a description', () => {
    const undescribed = OPERATIONS.flatMap(({ name, input, output }) =>
      [...fieldsOf(schemaOf(input, 'input')), ...fieldsOf(schemaOf(output, 'output'))]
        .filter(({ schema }) => schema.description === undefined)
        .map(({ path }) => `${name}.${path}`),
    )
    expect(undescribed).toEqual([])
  })

  const examples = OPERATIONS.flatMap((operation) => {
    const { name, example } = operation
    return example === undefined ? [] : [[name, operation, example] as const]
  })

  it.each(examples)('the example request for %s matches its schema', (_, operation, example) => {
    const { input } = callerOf(operation.needsPerson ? PERSON : SHARED, operation, example)
    expect(operation.input.safeParse(input).error).toBeUndefined()
  })
})

describe('handwritten part of docs/protocol.md', () => {
  it('the page names only existing errors and all retryable ones', () => {
    const named = [...prose.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code = '']) => code)
    expect(named.filter((code) => !(code in ERRORS))).toEqual([])
    const again = prose.split('\n').find((line) => line.startsWith('| `retryable` is true')) ?? ''
    const retryable = Object.entries(ERRORS).filter(([, row]) => row.retryable)
    expect([...again.matchAll(/`([A-Z]+[A-Z_]*)`/g)].map(([, code]) => code).toSorted()).toEqual(
      retryable.map(([code]) => code).toSorted(),
    )
  })

  it('the page names only paths that the server serves', () => {
    const { paths } = openApi(OPERATIONS, ENDPOINTS)
    const named = [...writtenByHand(page).matchAll(/\b(GET|POST) (\/[\w/{}]+)/g)]
    expect(named.length).toBeGreaterThan(10)
    const unknown = named
      .filter(([, method = '', path = '']) => paths[path]?.[method.toLowerCase()] === undefined)
      .map(([request]) => request)
    expect(unknown.filter((request) => !/^(GET|POST) \/mcp$/.test(request))).toEqual([])
  })
})
