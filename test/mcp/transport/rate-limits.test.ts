import { describe, expect, it } from 'vitest'
import { MemoryBuckets } from '../../../src/features/limits/memory-buckets.ts'
import { bareCall, modernPost, startMcp } from '../endpoint.ts'

const NAME = 'asyncgate_list_tasks'
const ALICE = { principal_id: 'alice' }

const limitedTo = (calls: number, fastPath = true) =>
  startMcp({
    fastPath,
    parts: () => ({
      rateLimits: {
        isEnabled: true,
        global: null,
        tenant: null,
        principal: { calls, window_seconds: 60 },
        buckets: new MemoryBuckets(() => 0),
      },
    }),
  })

describe.each([true, false])('rate limits over MCP (fast path: %s)', (fastPath) => {
  it('a tool call above the limit is a tool error, and responses report the limit', async () => {
    const server = await limitedTo(1, fastPath)
    const first = await server.call(NAME, ALICE)
    expect(first.body?.result?.isError).toBeUndefined()
    expect(first.headers.get('x-ratelimit-limit')).toBe('1')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(first.headers.get('x-ratelimit-bucket')).toBe('principal:default:agent%3Aalice:api_calls')
    const refused = await server.call(NAME, ALICE)
    expect(refused.status).toBe(200)
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(refused.body?.result).toMatchObject({
      isError: true,
      structuredContent: { code: 'RATE_LIMIT_EXCEEDED', retry_after: 60, limit: 1, window: '1m' },
    })
    expect((await server.call(NAME, { principal_id: 'bob' })).body?.result?.isError).toBeUndefined()
  })

  it('another request above the limit is a JSON-RPC error with status 429', async () => {
    const server = await limitedTo(1, fastPath)
    expect((await server.post(modernPost('tools/list'))).status).toBe(200)
    const refused = await server.post(modernPost('tools/list'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(refused.body?.error).toMatchObject({ code: 429, data: { code: 'RATE_LIMIT_EXCEEDED' } })
  })
})

it('every call of a batch counts', async () => {
  const server = await limitedTo(2)
  const calls = [1, 2, 3].map((id) => bareCall(NAME, ALICE, id).body)
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' },
    body: JSON.stringify(calls),
  })
  expect((await response.text()).match(/RATE_LIMIT_EXCEEDED/g)?.length).toBeGreaterThan(0)
  expect(response.headers.get('x-ratelimit-limit')).toBe('2')
})
