import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { guardedMcpFetch } from '../../../src/gateway/transports/http-fetch.ts'
import { httpFixture } from './fixture-http.ts'
import { fault, folder, LOCAL, open, textOf, until, web } from './support.ts'

const ERAS = ['modern', 'legacy'] as const

describe.each(ERAS)('an HTTP upstream of the %s era', (era) => {
  it('the upstream is addressed in its own protocol version', async () => {
    const { url } = await httpFixture(era)
    const { upstreams } = await open([web(url)])
    const version = era === 'modern' ? '2026-07-28' : '2025-11-25'
    expect(upstreams.get('fix')?.health).toMatchObject({ state: 'ready', protocol_version: version })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'héllo' }))).toBe('héllo')
  })

  it('the upstream is notified of a cancelled call, and the caller does not wait for it', async () => {
    const events: string[] = []
    const { url } = await httpFixture(era, { tell: (event) => events.push(event) })
    const { upstreams } = await open([web(url)])
    const stop = new AbortController()
    const call = upstreams.call('fix', 'wait', {}, { signal: stop.signal })
    await until(() => events.includes('wait'))
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await until(() => events.includes('cancelled'))
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'on' }))).toBe('on')
  })

  it('the connection is closed if a canceled call does not stop', async () => {
    const { url, requests } = await httpFixture(era)
    const { upstreams } = await open([web(url)])
    const stop = new AbortController()
    const begun = new Promise<void>((resolve) => {
      const options = { signal: stop.signal, onProgress: () => resolve() }
      upstreams.call('fix', 'deaf', {}, options).catch(() => {})
    })
    await begun
    const call = requests.findLast(({ method }) => method === 'POST')
    expect(call?.socket.destroyed).toBe(false)
    stop.abort()
    await until(() => call?.socket.destroyed)
  })

  it('the upstream is notified when a call times out', async () => {
    const events: string[] = []
    const { url } = await httpFixture(era, { tell: (event) => events.push(event) })
    const { upstreams } = await open([web(url, { timeout_ms: 200 })])
    const late = fault('UPSTREAM_TIMEOUT', { upstream: 'fix' })
    await expect(upstreams.call('fix', 'wait', {})).rejects.toMatchObject({ ...late, retryable: true })
    await until(() => events.includes('cancelled'))
  })

  it('progress arrives on the stream of the call', async () => {
    const { url } = await httpFixture(era)
    const { upstreams } = await open([web(url)])
    const seen: unknown[] = []
    const result = await upstreams.call(
      'fix',
      'steps',
      {},
      { onProgress: ({ progress }) => seen.push(progress) },
    )
    expect({ seen, text: textOf(result) }).toEqual({ seen: [1, 2], text: 'done' })
  })

  it('a response of 50 MB is refused, and the connection continues', async () => {
    const { url } = await httpFixture(era)
    const { upstreams } = await open([web(url, { max_result_bytes: 1024 * 1024 })])
    const big = (bytes: number) => upstreams.call('fix', 'big', { bytes })
    await expect(big(50_000_000)).rejects.toMatchObject(
      fault('UPSTREAM_RESULT_TOO_LARGE', { upstream: 'fix' }),
    )
    await expect(big(1024 * 1024)).rejects.toMatchObject(fault('UPSTREAM_RESULT_TOO_LARGE'))
    expect(textOf(await big(1_000_000))).toHaveLength(1_000_000)
    expect(upstreams.get('fix')?.health).toMatchObject({ state: 'ready', restarts: 0, breaker: 'closed' })
  })

  it.each(['application/json', 'text/event-stream'])('an endless response in %s is aborted', async (type) => {
    const served = await httpFixture(era)
    const { upstreams } = await open([web(served.url, { max_result_bytes: 1024 * 1024 })])
    const chunk = 'x'.repeat(64 * 1024)
    let written = 0
    served.intercept = (request, response) => {
      if (request.method !== 'POST') return false
      response.writeHead(200, { 'content-type': type }).write('data: ')
      const write = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length
      }
      response.on('drain', write)
      write()
      return true
    }
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject(fault('UPSTREAM_RESULT_TOO_LARGE'))
    await until(() => served.requests.at(-1)?.socket.destroyed)
    expect(written).toBeLessThan(50_000_000)
  })

  it('a changed tool list is noticed', async () => {
    const { url, fixture } = await httpFixture(era)
    const { upstreams } = await open([web(url, { pinned: 'each_tool' })])
    const changes: number[] = []
    const stopListening = upstreams.onTools(() => changes.push(upstreams.tools().length))
    const before = upstreams.tools()
    expect(upstreams.tools()).toBe(before)
    // A legacy server can notify only after its client listens.
    await until(() => era === 'modern' || fixture.servers.size > 0)
    fixture.grow('newcomer')
    await until(() => {
      if (changes.length === 0) fixture.grow('another')
      return changes.length > 0
    })
    expect(upstreams.find('fix__newcomer')).toMatchObject({ tool: 'newcomer' })
    stopListening()
  })

  it('credentials are resolved from references and sent with every request', async () => {
    const file = join(folder(), 'token')
    writeFileSync(file, 'from-the-file\n')
    const { url, requests } = await httpFixture(era)
    const headers = { Authorization: 'Bearer env:TOKEN', 'X-Key': `file:${file}` }
    const { upstreams } = await open([web(url, {}, headers)], { env: { TOKEN: 'from-the-env' } })
    await upstreams.call('fix', 'echo', { text: 'x' })
    expect(requests.length).toBeGreaterThan(2)
    for (const { headers } of requests) {
      expect(headers).toMatchObject({ authorization: 'Bearer from-the-env', 'x-key': 'from-the-file' })
    }
    const { transport } = upstreams.get('fix') ?? {}
    expect(transport).toEqual({ type: 'http', url, headers })
  })

  it('a response that breaks off fails the call immediately as retryable', async () => {
    const served = await httpFixture(era, {
      tell: (event) => event === 'wait' && served.requests.at(-1)?.socket.destroy(),
    })
    const { upstreams } = await open([web(served.url)])
    const lost = fault('UPSTREAM_UNAVAILABLE', { upstream: 'fix' })
    await expect(upstreams.call('fix', 'wait', {})).rejects.toMatchObject({ ...lost, retryable: true })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'still here' }))).toBe('still here')
  })

  it('a response that breaks off after its first event fails the call immediately too', async () => {
    const { url, requests } = await httpFixture(era)
    const { upstreams } = await open([web(url)])
    const onProgress = () => requests.findLast(({ method }) => method === 'POST')?.socket.destroy()
    await expect(upstreams.call('fix', 'deaf', {}, { onProgress })).rejects.toMatchObject(
      fault('UPSTREAM_UNAVAILABLE', { upstream: 'fix', problem: 'the stream of the response ended early' }),
    )
  })
})

it('credentials are sent to the origin of the upstream only', async () => {
  const [ours, theirs] = [await httpFixture('modern'), await httpFixture('modern')]
  const fetch = guardedMcpFetch({
    origin: new URL(ours.url).origin,
    headers: { authorization: 'secret' },
    egress: LOCAL,
    connectTimeoutMs: 5000,
    maxBytes: 1024,
    exchange: () => undefined,
  })
  for (const { url } of [ours, theirs]) await fetch(url)
  expect(ours.requests[0]?.headers.authorization).toBe('secret')
  expect(theirs.requests[0]?.headers.authorization).toBeUndefined()
})

describe('failures of HTTP upstreams', () => {
  it('a server that has lost the session gets a new one', async () => {
    const served = await httpFixture('legacy')
    const { upstreams } = await open([web(served.url)])
    served.forget()
    await expect(upstreams.call('fix', 'echo', { text: 'x' })).rejects.toMatchObject({
      ...fault('UPSTREAM_UNAVAILABLE'),
      retryable: true,
    })
    await until(() => upstreams.get('fix')?.health.restarts === 1)
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'hello again' }))).toBe('hello again')
    expect(upstreams.get('fix')?.health.last_error?.message).toContain('forgotten the session')
  })

  it.each([
    [429, { 'retry-after': '7' }, { status: 429, retry_after_ms: 7000 }],
    [503, {}, { status: 503 }],
    [500, {}, { status: 500 }],
  ])('status %i is retryable', async (status, headers, details) => {
    const served = await httpFixture('modern')
    const { upstreams } = await open([web(served.url)])
    served.intercept = (_request, response) => {
      response.writeHead(status, headers).end('busy')
      return true
    }
    const busy = fault('UPSTREAM_UNAVAILABLE', { upstream: 'fix', ...details })
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject({ ...busy, retryable: true })
  })

  it.each([400, 403, 422])('status %i is not retryable', async (status) => {
    const served = await httpFixture('modern')
    const { upstreams } = await open([web(served.url)])
    served.intercept = (_request, response) => {
      response.writeHead(status).end('No.\u001b[31m Ask nicely.')
      return true
    }
    const details = { upstream: 'fix', status, upstream_message: 'No. Ask nicely.' }
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject({
      ...fault('UPSTREAM_REFUSED', details),
      retryable: false,
    })
  })

  it('a credential that the server echoes is scrubbed', async () => {
    const served = await httpFixture('modern')
    const env = { TOKEN: 'swordfish-0123456789' }
    const { upstreams, log } = await open([web(served.url, {}, { Authorization: 'Bearer env:TOKEN' })], {
      env,
    })
    served.intercept = ({ headers }, response) => {
      response.writeHead(401).end(`This is not valid: ${headers.authorization}`)
      return true
    }
    const refusal = await upstreams.call('fix', 'echo', {}).catch((error: unknown) => error)
    expect(refusal).toMatchObject(
      fault('UPSTREAM_REFUSED', { status: 401, upstream_message: 'This is not valid: Bearer ***' }),
    )
    await until(() => upstreams.get('fix')?.health.state === 'down')
    const visible = JSON.stringify([refusal, log, upstreams.list(), upstreams.get('fix')])
    expect(visible).not.toContain('swordfish')
    // A replaced credential is used with the next connection.
    served.intercept = ({ headers }, response) => {
      if (headers.authorization === 'Bearer another-one') return false
      response.writeHead(401).end()
      return true
    }
    env.TOKEN = 'another-one'
    await until(() => upstreams.get('fix')?.health.state === 'ready')
  })

  it('an upstream whose credential is missing is down, and the reason names only the reference', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams } = await open([web(url, {}, { Authorization: 'Bearer env:NOWHERE' })], { env: {} })
    const { health } = upstreams.get('fix') ?? {}
    expect(health).toMatchObject({
      state: 'down',
      last_error: { message: expect.stringContaining('env:NOWHERE is not set or empty') },
    })
  })

  it('a redirect is not followed, and the credential is not sent', async () => {
    const elsewhere = await httpFixture('modern')
    const served = await httpFixture('modern')
    served.intercept = (_request, response) => {
      response.writeHead(307, { location: elsewhere.url }).end()
      return true
    }
    const { upstreams } = await open([web(served.url, {}, { Authorization: 'env:TOKEN' })], {
      env: { TOKEN: 'mine!' },
    })
    expect(upstreams.get('fix')?.health.state).toBe('down')
    expect(elsewhere.requests).toEqual([])
  })

  it('a private address is refused unless the operator permits it', async () => {
    const { url, requests } = await httpFixture('modern')
    const { upstreams } = await open([web(url)], { egress: { allow_http: true, allowed_ports: 'any' } })
    const { health } = upstreams.get('fix') ?? {}
    expect(health).toMatchObject({
      state: 'down',
      last_error: { code: 'UPSTREAM_REFUSED', message: expect.stringContaining('not allowed') },
    })
    expect(requests).toEqual([])
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject(fault('UPSTREAM_UNAVAILABLE'))
  })
})

describe('an HTTP upstream that is replaced by one of the other era', () => {
  it.each(ERAS)('a new handshake is made when the server was %s', async (era) => {
    const before = await httpFixture(era)
    const after = await httpFixture(era === 'modern' ? 'legacy' : 'modern')
    const { upstreams } = await open([web(before.url)])
    before.intercept = after.answer
    await expect(upstreams.call('fix', 'echo', { text: 'x' })).rejects.toMatchObject({ name: 'Fault' })
    await until(() => upstreams.get('fix')?.health.restarts === 1)
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'new' }))).toBe('new')
    const version = era === 'modern' ? '2025-11-25' : '2026-07-28'
    expect(upstreams.get('fix')?.health.protocol_version).toBe(version)
  })
})
