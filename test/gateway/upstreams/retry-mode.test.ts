import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { addUpstreamInput } from '../../../src/features/upstreams/shape.ts'
import { Patience } from '../../../src/gateway/calls/call-failure.ts'
import { mayRepeat, retryMode } from '../../../src/gateway/upstreams/tool-name.ts'
import { httpFixture } from './fixture-http.ts'
import { fault, open, program, record, until, web } from './support.ts'

const transport = { type: 'http', url: 'https://x.example/mcp' }

describe('retry mode of a tool', () => {
  it('the mode of the upstream applies unless patterns name the tool, and the strictest pattern wins', () => {
    expect(retryMode(record({ transport }), 'send')).toBe('idempotent')
    const rules = record({
      transport,
      retry: 'always',
      tools: { retry: { 'get_*': 'idempotent', '*_secret': 'never', get_secret: 'always' } },
    })
    expect(['send', 'get_list', 'get_secret'].map((tool) => retryMode(rules, tool))).toEqual([
      'always',
      'idempotent',
      'never',
    ])
  })

  it('the mode and the annotations of the tool decide whether a call may be repeated', () => {
    const hints = [undefined, {}, { readOnlyHint: true }, { idempotentHint: true }, { readOnlyHint: 'yes' }]
    const answers = (retry: string) =>
      hints.map((annotations) => mayRepeat(record({ transport, retry }), 'send', annotations))
    expect(answers('never')).toEqual([false, false, false, false, false])
    expect(answers('idempotent')).toEqual([false, false, true, true, false])
    expect(answers('always')).toEqual([true, true, true, true, true])
  })

  it("only the three modes are valid, in the operator's file and over the API", () => {
    const read = (fields: object) => addUpstreamInput.safeParse({ name: 'fix', transport, ...fields })
    expect(read({}).data).toMatchObject({ retry: 'idempotent', tools: { retry: {} } })
    expect(read({ retry: 'sometimes' }).error?.issues[0]?.path).toEqual(['retry'])
    expect(read({ tools: { retry: { 'a*': 'yes' } } }).error?.issues[0]?.path).toEqual([
      'tools',
      'retry',
      'a*',
    ])
  })
})

describe('not_run in the error of a call', () => {
  const failure = (call: Promise<unknown>) => call.then(() => undefined, Object)

  it('not_run is set if the program is not connected, and absent if it ended during the call', async () => {
    const restart = { first_ms: 3_600_000, max_ms: 3_600_000 }
    const { upstreams } = await open([program('legacy', {}, { restart })])
    const crashed = await failure(upstreams.call('fix', 'crash', {}))
    expect(crashed).toMatchObject(fault('UPSTREAM_UNAVAILABLE'))
    expect(crashed.details.not_run).toBeUndefined()
    await until(() => upstreams.get('fix')?.health.state === 'down')
    const { details } = await failure(upstreams.call('fix', 'echo', {}))
    expect(details).toMatchObject({ problem: 'it is not connected', not_run: true })
    // The next connection attempt is in about an hour.
    expect(details.retry_after_ms).toBeGreaterThan(3_500_000)
    expect(details.retry_after_ms).toBeLessThanOrEqual(3_600_000)
  })

  it('not_run is set if a server is busy or unreachable, and absent if it failed', async () => {
    const served = await httpFixture('modern')
    const { upstreams } = await open([web(served.url, { breaker: { failures: 100 } })])
    let status = 429
    served.intercept = (request, response) => {
      if (request.headers['mcp-method'] !== 'tools/call') return false
      response.writeHead(status).end()
      return true
    }
    const call = async () => (await failure(upstreams.call('fix', 'echo', {}))).details
    expect(await call()).toMatchObject({ status: 429, not_run: true })
    status = 502
    expect((await call()).not_run).toBeUndefined()
    served.close()
    // A request on a connection that is closing may still have been received.
    await sleep(100)
    expect(await call()).toMatchObject({ not_run: true, retry_after_ms: 1000 })
  })

  it('a call that may have run before is sent only if its tool may be repeated', async () => {
    const events: string[] = []
    const { url, fixture } = await httpFixture('modern', { tell: (event) => events.push(event) })
    const { upstreams } = await open([web(url, { tools: { retry: { mistake: 'always' } } })])
    const options = { mayHaveRun: true, onSend: () => events.push('sent') }
    const refused = fault('UPSTREAM_OUTCOME_UNKNOWN', { upstream: 'fix', tool: 'echo' })
    await expect(upstreams.call('fix', 'echo', {}, options)).rejects.toMatchObject(refused)
    expect([fixture.calls, events.includes('sent')]).toEqual([0, false])
    expect(await upstreams.call('fix', 'mistake', {}, options)).toMatchObject({ isError: true })
    expect([fixture.calls, events.includes('sent')]).toEqual([1, true])
  })
})

describe('patience of calls', () => {
  it('patience ends a fixed time after the upstream was first down, and finished calls are forgotten', () => {
    let now = 0
    const patience = new Patience(() => now)
    expect(patience.lasts('a', 100)).toBe(true)
    now = 99
    expect(patience.lasts('a', 100)).toBe(true)
    now = 100
    expect(patience.lasts('a', 100)).toBe(false)
    patience.end('a')
    expect(patience.lasts('a', 100)).toBe(true)
    now = 4_000_000
    patience.lasts('b', 100)
    expect(patience.size).toBe(1)
  })
})
