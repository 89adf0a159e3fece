import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { operationsFile } from '../../scripts/client-types/file.ts'
import { Authenticator } from '../../src/auth/credential.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { defineOperation, READS } from '../../src/features/define-operation.ts'
import { openApi } from '../../src/http/openapi/openapi.ts'
import { gateTools } from '../../src/mcp/tools/operation-tools.ts'
import { startServer } from '../../src/server/http-server.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { PROGRAM_LISTING } from '../support/program.ts'
import { refusal } from '../support/steps.ts'

const countLetters = defineOperation({
  name: 'count_letters',
  title: 'Count letters',
  description: 'Counts the letters of a text.',
  input: z.strictObject({ text: z.string().max(100).describe('The text to count') }),
  output: z.object({ letters: z.int().describe('Number of letters'), tenant: z.string() }),
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'GET', path: '/v1/letters/{text}' },
  effect: READS,
  async run({ engine }, caller, { text }) {
    const { name } = await engine.tenant(caller.tenant)
    return { letters: text.length, tenant: name }
  },
})

const operations = [...OPERATIONS, countLetters]
const authenticator = new Authenticator({ api_key: null, allow_insecure_dev: true, admin_keys: {} })

describeGates('new operation', (open) => {
  it('a defined operation has a REST route', async () => {
    const { gate } = await open()
    const guard = { allowed_hosts: [], allowed_origins: [] }
    const server = await startServer({
      ...{ gate, authenticator, guard, operations },
      maxBodyBytes: 1024,
      drainMs: 0,
    })
    try {
      const response = await fetch(`${server.url}/v1/letters/four?principal_kind=human&principal_id=root`)
      expect(await response.json()).toEqual({ letters: 4, tenant: 'default' })
    } finally {
      await server.close()
    }
  })

  it('a defined operation is an MCP tool', async () => {
    const { gate } = await open()
    const credential = await authenticator.authenticate({})
    const tools = gateTools({ gate, operations, onError: (error) => expect(error).toBeUndefined() })
    const run = await tools.find('asyncgate_count_letters', credential)
    if (typeof run !== 'function') throw new Error('the tool is missing')
    const call = { credential, listing: PROGRAM_LISTING, signal: new AbortController().signal }
    const args = { text: 'four', principal_kind: 'human', principal_id: 'root' }
    expect((await run(args, call)).structuredContent).toEqual({ letters: 4, tenant: 'default' })
  })

  it('a defined operation checks the role of the caller before the input', async () => {
    const { gate } = await open()
    expect(await refusal(gate.call(countLetters, worker(), { text: 1 }))).toMatchObject({ code: 'FORBIDDEN' })
    expect(await refusal(gate.call(countLetters, admin(), { text: 1 }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'text' },
    })
  })
})

describe('new operation in generated documents', () => {
  it('a defined operation is in the OpenAPI document', () => {
    const { paths } = openApi(operations, [])
    expect(paths['/v1/letters/{text}']?.get).toMatchObject({
      operationId: 'count_letters',
      summary: 'Count letters',
      'x-mcp-tool': 'asyncgate_count_letters',
    })
  })

  it('a defined operation is a typed method of the client', () => {
    const file = operationsFile(operations)
    expect(file).toContain(
      'countLetters(input: CountLettersInput, options?: CallOptions): Promise<CountLettersAnswer>',
    )
    expect(file).toContain('The text to count')
  })
})
