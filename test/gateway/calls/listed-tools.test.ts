import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import { admin } from '../../support/gates.ts'
import { PROGRAM } from '../../support/program.ts'
import { program } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
const ERAS = ['modern', 'legacy'] as const
const KEY = 'a-key-of-the-person-erin'

const put = (served: Served, id: string, fields: object) => served.gate.putPolicy(ROOT, { id, ...fields })

async function listed(client: Client): Promise<string[]> {
  const { tools } = await client.listTools()
  return tools.map(({ name }) => name).filter((name) => name.startsWith('fix__'))
}

it('a blocked tool is not listed, and a call of it names the rule that blocks it', async () => {
  const served = await serve([program('legacy')], { ASYNCGATE_UPSTREAM_DEFAULT: 'BLOCK' })
  for (const era of ERAS) {
    const client = await served.connect(era)
    expect(await listed(client)).toEqual([])
    const refused = await client.callTool({ name: 'fix__echo', arguments: { text: 'x' } })
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { code: 'POLICY_BLOCKED', details: { rule_id: null } },
    })
  }
  await put(served, 'mail', { action: 'ALLOW', scope: { upstream: 'fix' } })
  await put(served, 'no-crash', { action: 'BLOCK', priority: 1, scope: { tool: 'crash' } })
  const asking = { action: 'REQUIRE_APPROVAL', priority: 1, scope: { tool: 'add' } }
  await put(served, 'ask', asking)
  const condition = { '==': [{ var: 'args.text' }, 'bad'] }
  await put(served, 'no-bad', { action: 'BLOCK', priority: 1, scope: { tool: 'echo' }, condition })
  for (const era of ERAS) {
    const client = await served.connect(era)
    const names = await listed(client)
    expect(names).toEqual(expect.arrayContaining(['fix__add', 'fix__echo', 'fix__steps']))
    expect(names).not.toContain('fix__crash')
    expect(await client.callTool({ name: 'fix__crash', arguments: {} })).toMatchObject({
      structuredContent: { code: 'POLICY_BLOCKED', details: { rule_id: 'no-crash' } },
    })
  }
})

it('clients are notified when a policy change alters their tool list', async () => {
  const served = await serve([program('legacy')], { ASYNCGATE_UPSTREAM_DEFAULT: 'BLOCK' })
  const client = await served.connect('modern')
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1
  })
  expect(await listed(client)).toEqual([])
  const listening = await client.listen({ toolsListChanged: true })
  await put(served, 'other', { action: 'ALLOW', scope: { upstream: 'other' } })
  await put(served, 'echo', { action: 'ALLOW', scope: { tool: 'echo' } })
  await until(() => changes > 0)
  expect(await listed(client)).toEqual(['fix__echo'])
  await listening.close()
  expect(changes).toBe(1)
})

it('a caller with a bound key sees the tools it may call; others see the tools that any caller may call', async () => {
  const served = await serve([program('legacy')], {
    ASYNCGATE_UPSTREAM_DEFAULT: 'BLOCK',
    ASYNCGATE_ADMIN_KEYS: `erin=${KEY}`,
  })
  await put(served, 'alice', { action: 'ALLOW', scope: { tool: 'echo', principal: 'alice' } })
  await put(served, 'people', { action: 'ALLOW', scope: { tool: 'add', principal: 'human:*' } })
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  const requestInit = { headers: { authorization: `Bearer ${KEY}` } }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${served.url}/mcp${PROGRAM}`), { requestInit }),
  )
  expect(await listed(client)).toEqual(['fix__add'])
  expect(await listed(await served.connect())).toEqual(['fix__add', 'fix__echo'])
})
