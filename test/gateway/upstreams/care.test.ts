import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { httpFixture } from './fixture-http.ts'
import { fault, open, textOf, until, web } from './support.ts'

describe('circuit breaker of an upstream', () => {
  it('repeated failures open the breaker, and one successful probe closes it', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const cooldown_ms = 60_000
    const served = await httpFixture('modern')
    const { upstreams } = await open([web(served.url, { breaker: { failures: 3, cooldown_ms } })])
    let isBusy = true
    let tried = 0
    served.intercept = (request, response) => {
      if (request.headers['mcp-method'] !== 'tools/call') return false
      tried += 1
      if (isBusy) response.writeHead(503).end()
      return isBusy
    }
    const call = () => upstreams.call('fix', 'echo', { text: 'x' })
    const breaker = () => upstreams.get('fix')?.health.breaker
    for (let n = 0; n < 3; n++) await expect(call()).rejects.toMatchObject({ details: { status: 503 } })
    expect(breaker()).toBe('open')
    await expect(call()).rejects.toMatchObject({
      ...fault('UPSTREAM_UNAVAILABLE', {
        problem: 'its circuit breaker is open after repeated failures',
        retry_after_ms: cooldown_ms,
      }),
      retryable: true,
    })
    expect(tried).toBe(3)

    vi.advanceTimersByTime(cooldown_ms)
    expect(breaker()).toBe('half_open')
    const [one, two] = await Promise.allSettled([call(), call()])
    expect([one.status, two.status]).toEqual(['rejected', 'rejected'])
    expect(tried).toBe(4)
    expect(breaker()).toBe('open')

    isBusy = false
    vi.advanceTimersByTime(cooldown_ms)
    expect(textOf(await call())).toBe('x')
    expect(breaker()).toBe('closed')
  })
})

describe('concurrency and lifecycle of calls', () => {
  it('calls over the concurrency limit wait in order and can be aborted', async () => {
    const events: string[] = []
    const { url, fixture } = await httpFixture('modern', { tell: (event) => events.push(event) })
    const { upstreams } = await open([web(url, { concurrency: 2 })])
    const stops = Array.from({ length: 2 }, () => new AbortController())
    const held = stops.map(({ signal }) =>
      upstreams.call('fix', 'wait', {}, { signal }).catch(() => 'stopped'),
    )
    await until(() => events.filter((event) => event === 'wait').length === 2)

    const order: string[] = []
    const impatient = new AbortController()
    const echo = (text: string, signal?: AbortSignal) =>
      upstreams.call('fix', 'echo', { text }, { signal }).then((result) => order.push(textOf(result)))
    const first = echo('first')
    const gone = echo('gone', impatient.signal)
    const second = echo('second')
    await until(() => upstreams.get('fix')?.health.waiting === 3)
    impatient.abort(new Error('no time'))
    await expect(gone).rejects.toThrow('no time')
    expect(upstreams.get('fix')?.health).toMatchObject({ running: 2, waiting: 2 })
    expect(fixture.calls).toBe(2)

    stops[0]?.abort()
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
    stops[1]?.abort()
    expect(await Promise.all(held)).toEqual(['stopped', 'stopped'])
    expect(upstreams.get('fix')?.health).toMatchObject({ running: 0, waiting: 0 })
  })

  it('a call waits while its upstream is connecting', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams } = await open([web(url)], { wait: false })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'early' }))).toBe('early')
  })

  it('calls of an unknown or disabled upstream are refused', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams } = await open([web(url, { enabled: false })])
    await expect(upstreams.call('none', 'echo', {})).rejects.toMatchObject(fault('UPSTREAM_NOT_FOUND'))
    const disabled = fault('UPSTREAM_UNAVAILABLE', { problem: 'it is disabled' })
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject(disabled)
    expect(upstreams.get('fix')?.health.state).toBe('disabled')
    expect(upstreams.tools()).toEqual([])
  })

  it('running calls fail when the registry is closed', async () => {
    const events: string[] = []
    const { url } = await httpFixture('modern', { tell: (event) => events.push(event) })
    const { upstreams } = await open([web(url)])
    const call = upstreams.call('fix', 'wait', {}).catch((error: unknown) => error)
    await until(() => events.includes('wait'))
    await upstreams.close()
    expect(await call).toMatchObject(fault('UPSTREAM_UNAVAILABLE'))
    await until(() => events.includes('cancelled'))
  })
})
