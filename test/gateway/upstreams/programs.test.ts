import { describe, expect, it } from 'vitest'
import { fault, journal, open, program, textOf, until } from './support.ts'

describe.each(['modern', 'legacy'] as const)('a stdio upstream of the %s era', (era) => {
  it('the upstream is addressed in its own protocol version, and its tools are listed under its name', async () => {
    const { upstreams } = await open([program(era)])
    const version = era === 'modern' ? '2026-07-28' : '2025-11-25'
    const { health } = upstreams.get('fix') ?? {}
    expect(health).toMatchObject({ state: 'ready', protocol_version: version, server: 'fixture 1' })
    expect(upstreams.find('fix__echo')).toMatchObject({ upstream: 'fix', tool: 'echo' })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'héllo' }))).toBe('héllo')
  })

  it('the upstream is notified of a cancelled call, and the caller does not wait for it', async () => {
    const { env, has } = journal()
    const { upstreams } = await open([program(era, env)])
    const stop = new AbortController()
    const call = upstreams.call('fix', 'wait', {}, { signal: stop.signal })
    await has('wait')
    expect(upstreams.get('fix')?.health.running).toBe(1)
    const reason = new Error('nobody wants it any more')
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(upstreams.get('fix')?.health.running).toBe(0)
    await has('cancelled')
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'on' }))).toBe('on')
    expect(upstreams.get('fix')?.health).toMatchObject({
      restarts: 0,
      last_error: null,
      traffic: { calls: 1, errors: 0, median_ms: expect.any(Number), p95_ms: expect.any(Number) },
    })
  })

  it('a crash during calls fails them as retryable, and the program is started again', async () => {
    const { env, lines, has } = journal()
    const { upstreams } = await open([program(era, env)])
    const other = upstreams.call('fix', 'wait', {}).catch((error: unknown) => error)
    await has('wait')
    const lost = fault('UPSTREAM_UNAVAILABLE', { upstream: 'fix' })
    await expect(upstreams.call('fix', 'crash', {})).rejects.toMatchObject(lost)
    expect(await other).toMatchObject({ ...lost, retryable: true })
    await until(() => upstreams.get('fix')?.health.state === 'ready')
    const { restarts, last_error } = upstreams.get('fix')?.health ?? {}
    expect({ restarts, last_error }).toMatchObject({
      restarts: 1,
      last_error: { message: expect.stringContaining('the program ended with code 7') },
    })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'again' }))).toBe('again')
    expect(new Set(lines().filter((line) => line.startsWith('start'))).size).toBe(2)
  })

  it('progress is reported', async () => {
    const { upstreams } = await open([program(era)])
    const seen: unknown[] = []
    await upstreams.call('fix', 'steps', {}, { onProgress: (progress) => seen.push(progress) })
    expect(seen).toEqual([
      { progress: 1, total: 2, message: 'step 1' },
      { progress: 2, total: 2, message: 'step 2' },
    ])
  })

  it('a JSON-RPC error is a refusal, and a failure of the tool is a result', async () => {
    const { upstreams } = await open([program(era)])
    const details = {
      upstream: 'fix',
      rpc_code: -32_050,
      upstream_message: expect.stringContaining('Not you.'),
    }
    await expect(upstreams.call('fix', 'refuse', {})).rejects.toMatchObject(
      fault('UPSTREAM_REFUSED', details),
    )
    expect(await upstreams.call('fix', 'mistake', {})).toMatchObject({ isError: true })
    expect(upstreams.get('fix')?.health.breaker).toBe('closed')
  })

  it('a response of 50 MB is refused, and other calls and the connection continue', async () => {
    const { env, lines, has } = journal()
    const { upstreams } = await open([program(era, env, { max_result_bytes: 1024 * 1024 })])
    const stop = new AbortController()
    const other = upstreams.call('fix', 'wait', {}, { signal: stop.signal })
    await has('wait')
    const big = (bytes: number) => upstreams.call('fix', 'big', { bytes })
    await expect(big(50_000_000)).rejects.toMatchObject(
      fault('UPSTREAM_RESULT_TOO_LARGE', { upstream: 'fix' }),
    )
    await expect(big(1024 * 1024)).rejects.toMatchObject(fault('UPSTREAM_RESULT_TOO_LARGE'))
    expect(textOf(await big(1_000_000))).toHaveLength(1_000_000)
    expect(lines().filter((line) => line.startsWith('start'))).toHaveLength(1)
    stop.abort()
    await expect(other).rejects.toBe(stop.signal.reason)
  })
})

describe('stdio upstreams', () => {
  it('a program gets a few safe variables and those of its record, and its arguments without a shell', async () => {
    const given = program('legacy', { PLAIN: 'text', SECRET: 'env:ELSEWHERE' })
    const { transport } = given
    if (transport.type !== 'stdio') throw new Error('no program')
    const args = [...transport.args, '$(id)', '; exit 1', 'a b']
    const env = { PATH: process.env.PATH, HOME: '/home/x', ELSEWHERE: 'treasure', ASYNCGATE_API_KEY: 'k' }
    const { upstreams } = await open([{ ...given, transport: { ...transport, args } }], { env })
    const seen = JSON.parse(textOf(await upstreams.call('fix', 'environment', {})))
    expect(seen).toEqual({
      env: { PATH: process.env.PATH, HOME: '/home/x', PLAIN: 'text', SECRET: 'treasure' },
      args: ['legacy', '$(id)', '; exit 1', 'a b'],
    })
  })

  it('closing the registry ends the program and its child processes', async () => {
    const { upstreams } = await open([program('legacy')])
    const pid = Number(textOf(await upstreams.call('fix', 'child', {})))
    expect(isAlive(pid)).toBe(true)
    await upstreams.close()
    await until(() => !isAlive(pid))
  })

  it('a program that cannot start is retried, and its last line of stderr is shown without the secret', async () => {
    const env = { PATH: process.env.PATH, HUNTER: 'hunter2hunter2' }
    const { upstreams, log } = await open([program('broken', { KEY: 'env:HUNTER' })], { env })
    const { state, last_error } = upstreams.get('fix')?.health ?? {}
    expect(state).toBe('down')
    expect(last_error?.message).toContain('the program ended with code 3: It cannot start: the secret is ***')
    await expect(upstreams.call('fix', 'echo', {})).rejects.toMatchObject(fault('UPSTREAM_UNAVAILABLE'))
    await until(() => (upstreams.get('fix')?.health.restarts ?? 0) > 1)
    expect(JSON.stringify([log, upstreams.get('fix')])).not.toContain('hunter2')
  })

  it('an upstream whose program does not exist is down', async () => {
    const { upstreams } = await open([
      { ...program('legacy'), transport: { type: 'stdio', command: '/nowhere/at/all', args: [], env: {} } },
    ])
    const { health } = upstreams.get('fix') ?? {}
    expect(health).toMatchObject({
      state: 'down',
      last_error: { message: expect.stringContaining('ENOENT') },
    })
  })

  it('an upstream with a slow list does not delay the others', async () => {
    const { env, has } = journal()
    const slow = program('legacy', { ...env, FIXTURE_LIST_MS: '600000' }, { name: 'slow' })
    const { upstreams } = await open([slow, program('legacy')], { wait: false })
    await has('list')
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'here' }))).toBe('here')
    expect(upstreams.get('slow')?.health.state).toBe('connecting')
    expect(upstreams.tools().map(({ upstream }) => upstream)).not.toContain('slow')
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
