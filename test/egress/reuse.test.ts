import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { guardedFetch } from '../../src/egress/fetch.ts'
import { CERTIFICATE } from './certificate.ts'
import { errorOf, fetchLocal, LOCAL, site } from './site.ts'

const toLoopback = async () => ['127.0.0.1']

/** A connection becomes reusable only in a later turn of the event loop than the end of its response. */
const idle = () => sleep(20)

/** The number of connections over which requests arrived. */
function connections(requests: readonly IncomingMessage[]): number {
  return new Set(requests.map(({ socket }) => socket)).size
}

describe('connection reuse', () => {
  it('sequential requests to one origin share one connection', async () => {
    const { url, requests } = await site((_, response) => response.end('ok'))
    for (let n = 0; n < 5; n++) {
      await (await fetchLocal(`${url}/${n}`)).bytes()
      await idle()
    }
    expect(requests).toHaveLength(5)
    expect(connections(requests)).toBe(1)
  })

  it('sequential requests over TLS share one connection', async () => {
    const { port, requests } = await site((_, response) => response.end('ok'), '127.0.0.1', true)
    const settings = { ca: CERTIFICATE }
    for (let n = 0; n < 3; n++) {
      await (await fetchLocal(`https://site.test:${port}/`, settings, { resolve: toLoopback })).bytes()
      await idle()
    }
    expect(connections(requests)).toBe(1)
  })

  it('a connection is reused after a discarded response and for the hops of a redirect', async () => {
    const { url, requests } = await site((request, response) => {
      if (request.url === '/from') response.writeHead(302, { location: '/to' }).end('moved')
      else response.end('ok')
    })
    ;(await fetchLocal(url)).discard()
    await idle()
    await (await fetchLocal(`${url}/from`)).bytes()
    await idle()
    await (await fetchLocal(url)).bytes()
    expect(requests).toHaveLength(4)
    // The second hop follows before the connection of the first is idle.
    expect(connections(requests)).toBeLessThanOrEqual(2)
  })

  it('each concurrent request has its own connection', async () => {
    const { url, requests } = await site((_, response) => void setTimeout(() => response.end('ok'), 50))
    await Promise.all([1, 2, 3].map(async () => (await fetchLocal(url)).bytes()))
    expect(connections(requests)).toBe(3)
  })

  it('a connection is not reused for another host name at the same address', async () => {
    const { port, requests } = await site((_, response) => response.end('ok'))
    for (const host of ['one.test', 'two.test', 'one.test']) {
      await (await fetchLocal(`http://${host}:${port}/`, {}, { resolve: toLoopback })).bytes()
      await idle()
    }
    expect(connections(requests)).toBe(2)
  })

  it('a connection is not reused under other trusted certificates', async () => {
    const { port, requests } = await site((_, response) => response.end('ok'), '127.0.0.1', true)
    const fetchWith = (ca?: string) =>
      fetchLocal(`https://site.test:${port}/`, { ca }, { resolve: toLoopback })
    await (await fetchWith(CERTIFICATE)).bytes()
    expect(await errorOf(fetchWith())).toMatchObject({ code: 'UNREACHABLE', isUnsent: true })
    expect(requests).toHaveLength(1)
  })

  it('a connection is not reused under rules that do not allow its address', async () => {
    const { url, requests } = await site((_, response) => response.end('ok'))
    await (await fetchLocal(url)).bytes()
    const settings = { ...LOCAL, allowed_private: [] }
    expect(await errorOf(guardedFetch(url, { settings }))).toMatchObject({ code: 'REFUSED' })
    expect(requests).toHaveLength(1)
  })

  it('a connection is not reused when the host name resolves to other addresses', async () => {
    const before = await site((_, response) => response.end('before'))
    const url = `http://site.test:${before.port}/`
    const settings = { allowed_private: ['127.0.0.1', '127.0.0.2'] }
    await (await fetchLocal(url, settings, { resolve: toLoopback })).bytes()
    const moved = fetchLocal(url, settings, { resolve: async () => ['127.0.0.2'] })
    expect(await errorOf(moved)).toMatchObject({ code: 'UNREACHABLE', isUnsent: true })
    const turned = fetchLocal(url, settings, { resolve: async () => ['10.0.0.1'] })
    expect(await errorOf(turned)).toMatchObject({ code: 'REFUSED', isUnsent: true })
    expect(before.requests).toHaveLength(1)
  })

  it.each(['http://127.0.0.2:1/', 'http://10.0.0.1/', 'http://inside.test/'])(
    'a redirect to %s is refused on a reused connection',
    async (location) => {
      const { port, requests } = await site((request, response) => {
        if (request.url === '/from') response.writeHead(302, { location }).end()
        else response.end('ok')
      })
      const resolve = async (host: string) => (host === 'site.test' ? ['127.0.0.1'] : ['10.0.0.7'])
      const fetch = (path: string) => fetchLocal(`http://site.test:${port}${path}`, {}, { resolve })
      await (await fetch('/')).bytes()
      await idle()
      expect(await errorOf(fetch('/from'))).toMatchObject({ code: 'REFUSED' })
      expect(requests.map(({ url }) => url)).toEqual(['/', '/from'])
      expect(connections(requests)).toBe(1)
    },
  )

  it('a connection is not reused after a partially read response', async () => {
    const { url, requests } = await site((request, response) => {
      if (request.url === '/long') response.end(Buffer.alloc(1024 * 1024))
      else response.end('ok')
    })
    expect(await errorOf((await fetchLocal(`${url}/long`, { max_bytes: 10 })).bytes())).toMatchObject({
      code: 'TOO_LARGE',
    })
    await (await fetchLocal(url)).bytes()
    expect(connections(requests)).toBe(2)
  })

  it('a request succeeds after the server closed the idle connection', async () => {
    const { url, requests } = await site((_, response) => response.end('ok'))
    await (await fetchLocal(url)).bytes()
    requests[0]?.socket.destroy()
    await idle()
    await (await fetchLocal(url)).bytes()
    expect(connections(requests)).toBe(2)
  })
})

describe('time limit while connecting', () => {
  it('a timeout while connecting marks the request as unsent', async () => {
    const resolve = () => new Promise<string[]>(() => {})
    const resolving = fetchLocal('https://site.test/', { total_timeout_ms: 50 }, { resolve })
    expect(await errorOf(resolving)).toMatchObject({ code: 'TIMED_OUT', isUnsent: true })
    const { url } = await site(() => {})
    expect(await errorOf(fetchLocal(url, { total_timeout_ms: 100 }))).toMatchObject({ isUnsent: false })
  })
})

describe('global fetch', () => {
  it('the global fetch keeps its built-in dispatcher', async () => {
    const { url } = await site((_, response) => response.end('ok'))
    await (await fetchLocal(url)).bytes()
    const { Agent } = await import('undici')
    expect(Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'))).not.toBeInstanceOf(Agent)
  })
})
