import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import net from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { guardedFetch } from '../../src/egress/fetch.ts'
import { errorOf, fetchLocal, site } from './site.ts'

const MIB = 1024 * 1024

/** Waits until the connection of each request is closed. */
async function allClosed(requests: readonly IncomingMessage[]): Promise<void> {
  expect(requests).not.toEqual([])
  for (const { socket } of requests) {
    // A connection that is reset emits an error first.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  }
}

describe('size limit', () => {
  it('a body may have max_bytes and not one byte more', async () => {
    const { url } = await site((request, response) =>
      response.end(Buffer.alloc(Number(request.url?.slice(1)))),
    )
    const settings = { max_bytes: 100_000 }
    expect(await (await fetchLocal(`${url}/100000`, settings)).bytes()).toHaveLength(100_000)
    const answer = await fetchLocal(`${url}/100001`, settings)
    expect(await errorOf(answer.bytes())).toMatchObject({ code: 'TOO_LARGE', retryable: false })
  })

  it('a body can be truncated at the limit', async () => {
    const { url } = await site((_, response) => response.end('0123456789'))
    const cut = await (await fetchLocal(url, { max_bytes: 4 })).upToLimit()
    expect(cut).toEqual({ bytes: Buffer.from('0123'), truncated: true })
    const whole = await (await fetchLocal(url, { max_bytes: 10 })).upToLimit()
    expect(whole).toEqual({ bytes: Buffer.from('0123456789'), truncated: false })
  })

  it('the limit does not rely on the length that the server declares', async () => {
    const { url } = await site((_, response) => {
      // Endless chunks.
      const write = () => {
        while (response.write(Buffer.alloc(65_536)));
        response.once('drain', write)
      }
      write()
    })
    expect(await errorOf((await fetchLocal(url)).bytes())).toMatchObject({ code: 'TOO_LARGE' })
  })

  it.each([
    ['gzip', gzipSync(Buffer.alloc(64 * MIB))],
    ['x-gzip', gzipSync(Buffer.alloc(64 * MIB))],
    ['br', brotliCompressSync(Buffer.alloc(64 * MIB))],
    ['deflate', deflateSync(Buffer.alloc(64 * MIB))],
  ])('the limit counts the bytes decoded from %s', async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(MIB)
    const { url } = await site((_, response) => response.setHeader('content-encoding', encoding).end(bomb))
    const before = process.memoryUsage().arrayBuffers
    const answer = await fetchLocal(url, { max_bytes: MIB })
    expect(await errorOf(answer.bytes())).toMatchObject({ code: 'TOO_LARGE' })
    // Some of the body is in flight, but never all 64 MiB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB)
  })

  it.each([
    ['gzip', gzipSync('hello')],
    ['GZIP', gzipSync('hello')],
    ['br', brotliCompressSync('hello')],
    ['identity', Buffer.from('hello')],
  ])('a body with encoding %s is decoded, and the encoding headers are removed', async (encoding, bytes) => {
    const { url, requests } = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding, 'content-length': bytes.length }).end(bytes)
    })
    const answer = await fetchLocal(url)
    expect(String(await answer.bytes())).toBe('hello')
    expect(answer.headers['content-encoding'] ?? 'identity').toBe('identity')
    expect(requests[0]?.headers['accept-encoding']).toBe('gzip, br')
  })

  it.each(['gzip, gzip', 'zstd', 'exi'])('the encoding %s is refused', async (encoding) => {
    const { url } = await site((_, response) => response.setHeader('content-encoding', encoding).end('x'))
    expect(await errorOf(fetchLocal(url))).toMatchObject({ code: 'BAD_RESPONSE' })
  })

  it('a response without a body keeps its encoding header', async () => {
    const { url } = await site((_, response) => response.setHeader('content-encoding', 'gzip').end())
    const answer = await fetchLocal(url, {}, { method: 'HEAD' })
    expect(await answer.bytes()).toHaveLength(0)
    expect(answer.headers['content-encoding']).toBe('gzip')
  })

  it.each([
    ['does not match its encoding', 'gzip', Buffer.from('not gzip at all')],
    ['does not match its encoding', 'br', Buffer.from('not brotli at all')],
    ['is truncated', 'gzip', gzipSync(Buffer.from('hello '.repeat(999))).subarray(0, 30)],
    ['is truncated', 'br', brotliCompressSync(Buffer.from('hello '.repeat(999))).subarray(0, 10)],
  ])('a compressed body that %s is reported (%s)', async (_, encoding, bytes) => {
    const { url } = await site((_request, response) => {
      response.setHeader('content-encoding', encoding).end(bytes)
    })
    expect(await errorOf((await fetchLocal(url)).bytes())).toMatchObject({
      code: 'BAD_RESPONSE',
      retryable: true,
    })
  })

  it('a body of a broken connection is not taken as complete', async () => {
    const { url } = await site((_, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('half', () => response.destroy())
    })
    const answer = await fetchLocal(url)
    expect(await errorOf(answer.bytes())).toMatchObject({ code: 'UNREACHABLE' })
  })
})

describe('time limits', () => {
  it('the time to connect is limited, including the TLS handshake', async () => {
    const held: Socket[] = []
    const server = net.createServer((socket) => void held.push(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of held) socket.destroy()
      server.close()
    })
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const error = await errorOf(fetchLocal(`https://127.0.0.1:${port}/`, { connect_timeout_ms: 50 }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', retryable: true, reason: 'connecting took over 50 ms' })
  })

  it('the time to resolve the host is limited', async () => {
    const resolve = () => new Promise<string[]>(() => {})
    const error = await errorOf(fetchLocal('https://site.test/', { connect_timeout_ms: 50 }, { resolve }))
    expect(error).toMatchObject({ code: 'TIMED_OUT' })
  })

  it('the time to the response is limited', async () => {
    const { url } = await site(() => {})
    const error = await errorOf(fetchLocal(url, { total_timeout_ms: 100 }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', reason: 'the request took over 100 ms' })
  })

  it('the time to read a slow body is limited', async () => {
    const { url, requests } = await site((_, response) => {
      const drop = setInterval(() => response.write('x'), 10)
      response.on('close', () => clearInterval(drop))
    })
    const reading = fetchLocal(url, { total_timeout_ms: 500 }).then((answer) => answer.bytes())
    expect(await errorOf(reading)).toMatchObject({ code: 'TIMED_OUT' })
    await allClosed(requests)
  })

  it('the total time covers all hops', async () => {
    const { url } = await site((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/slow' }).end()
    })
    expect(await errorOf(fetchLocal(url, { total_timeout_ms: 100 }))).toMatchObject({ code: 'TIMED_OUT' })
  })

  it('the total time applies to a response that is not read', async () => {
    const { url, requests } = await site((_, response) => void response.write('begun'))
    await fetchLocal(url, { total_timeout_ms: 1_000 })
    await allClosed(requests)
  })
})

describe('abort', () => {
  const reason = new Error('enough')

  it('an abort before the request sends nothing', async () => {
    const { url, requests } = await site((_, response) => response.end())
    await expect(fetchLocal(url, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(requests).toEqual([])
  })

  it('an abort while the host is resolved rejects the request', async () => {
    const stop = new AbortController()
    const resolve = () => {
      stop.abort(reason)
      return new Promise<string[]>(() => {})
    }
    await expect(guardedFetch('https://site.test', { resolve, signal: stop.signal })).rejects.toBe(reason)
  })

  it('an abort while waiting for the response closes the connection', async () => {
    const stop = new AbortController()
    const { url, requests } = await site(() => stop.abort(reason))
    await expect(fetchLocal(url, {}, { signal: stop.signal })).rejects.toBe(reason)
    await allClosed(requests)
  })

  it('an abort while the body is read closes the connection', async () => {
    const stop = new AbortController()
    const { url, requests } = await site((_, response) => void response.write('begun'))
    const answer = await fetchLocal(url, {}, { signal: stop.signal })
    const reading = (async () => {
      for await (const chunk of answer.body) if (String(chunk) === 'begun') stop.abort(reason)
    })()
    await expect(reading).rejects.toBe(reason)
    await allClosed(requests)
  })

  it('no listeners stay on the signal of the caller', async () => {
    const { url } = await site((_, response) => response.end('x'))
    const { signal } = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++
      addEventListener.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--
      removeEventListener.apply(signal, args)
    }
    await (await fetchLocal(url, {}, { signal })).bytes()
    ;(await fetchLocal(url, {}, { signal })).discard()
    await errorOf(fetchLocal('http://10.0.0.1/', {}, { signal }))
    expect(listeners).toBe(0)
  })
})
