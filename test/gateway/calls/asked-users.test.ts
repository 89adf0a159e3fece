import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { admin } from '../../support/gates.ts'
import { PAGE } from '../upstreams/fixture-asking.ts'
import { program } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'

interface Shown {
  readonly mode?: string | undefined
  readonly message: string
  readonly url?: string | undefined
}

type Reply = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> }

describe.each(['modern', 'legacy'] as const)('the user of a %s client', (era) => {
  async function start() {
    const served = await serve([program('modern', { FIXTURE_ASKS: '1' })])
    return served
  }

  async function connect(served: Served, react: (shown: Shown) => Reply | Promise<Reply>) {
    const client = new Client(
      { name: 'alice', version: '1' },
      {
        capabilities: { elicitation: { form: {}, url: {} } },
        versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      },
    )
    client.setRequestHandler('elicitation/create', ({ params }) => react(params))
    await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`)))
    onTestFinished(() => client.close())
    return client
  }

  it('gets the link of a call that requires approval, and the result of the upstream after it', async () => {
    const served = await start()
    await served.gate.putPolicy(admin(), { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'echo' } })
    const shown: Shown[] = []
    const client = await connect(served, (params) => {
      shown.push(params)
      const task_id = params.url?.split('/').at(-1) ?? ''
      setTimeout(() => void served.gate.approve(admin(), { task_id }), 50)
      return { action: 'accept' }
    })
    const result = await client.callTool({ name: 'fix__echo', arguments: { text: 'approved' } })
    expect(result).toMatchObject({ content: [{ text: 'approved' }] })
    expect(shown).toMatchObject([
      {
        mode: 'url',
        message: expect.stringContaining('agent:alice asks for a call of echo of fix'),
        url: expect.stringContaining(`${served.url}/console/approvals/`),
      },
    ])
    expect((await served.gate.listTasks(admin(), {})).tasks).toHaveLength(1)
  })

  it('answers the form of an upstream', async () => {
    const served = await start()
    const client = await connect(served, () => ({ action: 'accept', content: { size: 'l' } }))
    const { content } = await client.callTool({ name: 'fix__order', arguments: {} })
    expect(JSON.stringify(content)).toMatch(/accept.*size\W+l/)
  })

  it('is shown the page of an upstream as a link', async () => {
    const served = await start()
    const shown: Shown[] = []
    const client = await connect(served, (params) => {
      shown.push(params)
      return { action: 'accept' }
    })
    const { content } = await client.callTool({ name: 'fix__pay', arguments: {} })
    expect(JSON.stringify(content)).toMatch(/accept/)
    expect(shown).toMatchObject([
      { mode: 'url', url: PAGE, message: expect.stringContaining('The upstream fix asks: Pay first.') },
    ])
  })

  it.each(['decline', 'cancel'] as const)('reaches the upstream with %s', async (action) => {
    const served = await start()
    const client = await connect(served, () => ({ action }))
    const { content } = await client.callTool({ name: 'fix__order', arguments: {} })
    expect(JSON.stringify(content)).toMatch(new RegExp(action))
  })
})
