import { describe, expect, it } from 'vitest'
import { upstreamsOf } from '../../support/tenants.ts'
import { program, record } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const CONNECTIONS = [
  ['HTTP', 'modern'],
  ['HTTP', 'legacy'],
  ['stdio', 'modern'],
  ['stdio', 'legacy'],
] as const

const connect = (served: Served, [transport, era]: (typeof CONNECTIONS)[number]) =>
  transport === 'HTTP' ? served.connect(era) : served.connectStdio(era)

const missing = (name: string, fields: object = {}) =>
  record({
    name,
    transport: { type: 'stdio', command: '/no/such/program' },
    restart: { first_ms: 60_000, max_ms: 60_000 },
    ...fields,
  })

describe('calls of unavailable upstream tools', () => {
  it('a call over MCP reports quarantine, a deny rule, or an upstream that is down or disabled', async () => {
    const served = await serve([
      program('legacy', {}, { tools: { deny: ['crash'] } }),
      missing('down'),
      missing('off', { enabled: false }),
    ])
    const legacy = await served.connect()
    await legacy.callTool({ name: 'fix__redefine', arguments: { description: 'Sends it home.' } })
    await until(() => upstreamsOf(served).find('fix__echo') === undefined)
    for (const connection of CONNECTIONS) {
      const client = await connect(served, connection)
      const refusal = async (name: string) => {
        const { isError, structuredContent } = await client.callTool({ name, arguments: {} })
        expect(isError).toBe(true)
        return structuredContent
      }
      expect(await refusal('fix__echo')).toMatchObject({
        code: 'UPSTREAM_TOOL_QUARANTINED',
        details: { upstream: 'fix', tool: 'echo', problem: 'its definition has changed' },
      })
      expect(await refusal('fix__crash')).toMatchObject({
        code: 'UPSTREAM_TOOL_NOT_FOUND',
        details: { problem: 'tools.deny of the upstream names it' },
      })
      expect(await refusal('down__anything')).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        retryable: true,
        details: { upstream: 'down', problem: 'it is not connected' },
      })
      expect(await refusal('off__anything')).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        details: { upstream: 'off', problem: 'it is disabled' },
      })
    }
  })

  it('a name that no upstream ever listed is an unknown tool', async () => {
    const served = await serve([program('legacy')])
    for (const connection of CONNECTIONS) {
      const client = await connect(served, connection)
      for (const name of ['fix__nothing', 'nobody__echo', 'echo', '__proto__', 'fix']) {
        await expect(client.callTool({ name, arguments: {} })).rejects.toThrow('Unknown tool')
      }
    }
  })
})
