import net from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { connector } from '../../src/egress/connect.ts'
import { guardedFetch } from '../../src/egress/fetch.ts'
import { CERTIFICATE } from './certificate.ts'
import { errorOf, fetchLocal, site } from './site.ts'

describe('guardedFetch', () => {
  it('a request returns status, headers and body', async () => {
    const { url, requests } = await site((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(201, { 'X-Answer': 'yes', 'Set-Cookie': ['a=1', 'b=2'] }).end('created')
      })
    })
    const answer = await fetchLocal(`${url}/path?q=1#part`, {}, { headers: { 'X-Question': 'why' } })
    expect(answer).toMatchObject({
      url: `${url}/path?q=1#part`,
      status: 201,
      headers: { 'x-answer': 'yes', 'set-cookie': 'a=1, b=2' },
    })
    expect(String(await answer.bytes())).toBe('created')
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/path?q=1' })
    expect(requests[0]?.headers).toMatchObject({
      host: new URL(url).host,
      'x-question': 'why',
      'user-agent': 'asyncgate',
    })
  })

  it('a request can send a complete or a streamed body', async () => {
    const { url } = await site((request, response) => {
      response.setHeader('length', request.headers['content-length'] ?? 'unknown')
      request.pipe(response)
    })
    const whole = await fetchLocal(url, {}, { method: 'POST', body: 'gr\u00fc\u00dfe' })
    expect(whole.headers.length).toBe('7')
    expect(String(await whole.bytes())).toBe('gr\u00fc\u00dfe')
    async function* parts() {
      yield Buffer.from('one ')
      yield Buffer.from('two')
    }
    const streamed = await fetchLocal(url, {}, { method: 'PUT', body: parts() })
    expect(streamed.headers.length).toBe('unknown')
    expect(String(await streamed.bytes())).toBe('one two')
  })

  it('an address that is not public is refused without the reason', async () => {
    const { port, requests } = await site((_, response) => response.end('secret'))
    const settings = { allow_http: true, allowed_ports: 'any' } as const
    for (const host of ['127.0.0.1', '127.1', '2130706433', 'localhost', 'localhost.', '[::ffff:7f00:1]']) {
      const error = await errorOf(guardedFetch(`http://${host}:${port}/`, { settings }))
      expect(error).toMatchObject({ code: 'REFUSED', retryable: false })
      expect(error.message).toBe('This URL is not allowed, or the host does not exist.')
    }
    expect(requests).toEqual([])
  })

  it('a missing host and a private host get the same error', async () => {
    const missing = await errorOf(guardedFetch('https://no-such-host.invalid/'))
    const hidden = await errorOf(guardedFetch('https://db.corp/', { resolve: async () => ['10.0.0.1'] }))
    expect({ ...missing, reason: '' }).toEqual({ ...hidden, reason: '' })
    expect(missing.message).toBe(hidden.message)
    expect(hidden.reason).toBe('db.corp is at 10.0.0.1, which is private')
  })

  it('a request is refused if one of several addresses is private', async () => {
    const { port, requests } = await site((_, response) => response.end())
    const resolve = async () => ['127.0.0.1', '10.0.0.1']
    const error = await errorOf(fetchLocal(`http://site.test:${port}/`, {}, { resolve }))
    expect(error.reason).toBe('site.test is at 10.0.0.1, which is private')
    expect(requests).toEqual([])
  })

  it('a host name is resolved once, so that later changes have no effect', async () => {
    const meant = await site((_, response) => response.end('meant'))
    const trap = await site((_, response) => response.end('trap'), '127.0.0.2')
    const resolve = vi.fn(async () => ['127.0.0.1']).mockResolvedValueOnce(['127.0.0.1'])
    resolve.mockResolvedValue(['127.0.0.2'])
    const answer = await fetchLocal(`http://site.test:${meant.port}/`, {}, { resolve })
    expect(String(await answer.bytes())).toBe('meant')
    expect(resolve).toHaveBeenCalledTimes(1)
    expect(meant.requests[0]?.headers.host).toBe(`site.test:${meant.port}`)
    expect(trap.requests).toEqual([])
  })

  it('a connection to an address that was not checked is refused', async () => {
    const trap = await site((_, response) => response.end('trap'), '127.0.0.2')
    const elsewhere = () => net.connect(trap.port, '127.0.0.2')
    const connect = connector({ addresses: ['127.0.0.1'], ca: undefined, timeoutMs: 5_000 }, elsewhere)
    const options = { hostname: 'site.test', port: String(trap.port), protocol: 'http:' }
    const opening = new Promise((resolve, reject) =>
      connect(options, (error, socket) => (error === null ? resolve(socket) : reject(error))),
    )
    expect(await errorOf(opening)).toMatchObject({
      code: 'REFUSED',
      reason: 'site.test was connected at 127.0.0.2, which was not checked',
    })
  })

  it('the next address is tried if the first is unreachable', async () => {
    const { port } = await site((_, response) => response.end('here'), '127.0.0.2')
    const settings = { allowed_private: ['127.0.0.0/8'] }
    const resolve = async () => ['127.0.0.1', '127.0.0.2']
    const answer = await fetchLocal(`http://site.test:${port}/`, settings, { resolve })
    expect(String(await answer.bytes())).toBe('here')
  })

  it('a private host that the operator allows by name is reachable', async () => {
    const { port } = await site((_, response) => response.end('wiki'))
    const resolve = async () => ['127.0.0.1']
    const settings = { allowed_private: ['wiki.corp'] }
    const answer = await fetchLocal(`http://wiki.corp:${port}/`, settings, { resolve })
    expect(String(await answer.bytes())).toBe('wiki')
    expect(await errorOf(fetchLocal(`http://other.corp:${port}/`, settings, { resolve }))).toMatchObject({
      code: 'REFUSED',
    })
  })

  it('proxy settings of the environment are ignored', async () => {
    const proxy = await site((_, response) => response.end('proxy'))
    const meant = await site((_, response) => response.end('meant'))
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, proxy.url)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(String(await (await fetchLocal(meant.url)).bytes())).toBe('meant')
    expect(proxy.requests).toEqual([])
  })

  it('a refused connection is reported', async () => {
    const { port } = await site((_, response) => response.end())
    const closed = net.createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const address = closed.address()
    await new Promise((resolve) => closed.close(resolve))
    const free = typeof address === 'object' && address !== null ? address.port : port
    const error = await errorOf(fetchLocal(`http://127.0.0.1:${free}/`))
    expect(error).toMatchObject({ code: 'UNREACHABLE', retryable: true })
    expect(error.message).not.toContain('127.0.0.1')
    expect(error.reason).toContain('ECONNREFUSED')
  })

  it('a response that is not HTTP is refused', async () => {
    const server = net.createServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await errorOf(fetchLocal(`http://127.0.0.1:${port}/`))).toMatchObject({ code: 'BAD_RESPONSE' })
  })

  it('a protocol upgrade is refused', async () => {
    const { url } = await site((request) => {
      const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket', '', '']
      request.socket.write(head.join('\r\n'))
    })
    expect(await errorOf(fetchLocal(url))).toMatchObject({ code: 'BAD_RESPONSE' })
  })

  it('only the allowed media types are accepted', async () => {
    const { url } = await site((request, response) => {
      response.setHeader(
        'content-type',
        request.url === '/json' ? 'Application/JSON; charset=utf-8' : 'text/html',
      )
      response.end('{}')
    })
    const settings = { content_types: ['application/json', 'image/*'] }
    expect((await fetchLocal(`${url}/json`, settings)).status).toBe(200)
    expect(await errorOf(fetchLocal(`${url}/page`, settings))).toMatchObject({
      code: 'BAD_RESPONSE',
      reason: 'the content type is text/html',
    })
  })
})

describe('guardedFetch over https', () => {
  const resolve = async () => ['127.0.0.1']

  it('the TLS connection uses the host name of the URL over the checked address', async () => {
    const { port, requests } = await site((_, response) => response.end('secure'), '127.0.0.1', true)
    const settings = { allow_http: false, ca: CERTIFICATE }
    for (const host of ['site.test', 'site.test.', '127.0.0.1']) {
      const answer = await fetchLocal(`https://${host}:${port}/`, settings, { resolve })
      expect(String(await answer.bytes())).toBe('secure')
    }
    expect(requests).toHaveLength(3)
  })

  it('the certificate must be for the host name and from a trusted authority', async () => {
    const { port, requests } = await site((_, response) => response.end(), '127.0.0.1', true)
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const stranger = await errorOf(fetchLocal(`https://site.test:${port}/`, {}, { resolve }))
    expect(stranger).toMatchObject({ code: 'UNREACHABLE' })
    expect(stranger.reason).toContain('self-signed certificate')
    const otherName = fetchLocal(`https://other.test:${port}/`, { ca: CERTIFICATE }, { resolve })
    expect((await errorOf(otherName)).reason).toContain("does not match certificate's altnames")
    expect(requests).toEqual([])
  })
})

describe('guardedFetch and redirects', () => {
  it('a redirect is followed', async () => {
    const { url } = await site((request, response) => {
      if (request.url === '/end') response.end('there')
      else response.writeHead(302, { location: '/end' }).end()
    })
    const answer = await fetchLocal(`${url}/begin`)
    expect(answer.url).toBe(`${url}/end`)
    expect(String(await answer.bytes())).toBe('there')
  })

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://127.0.0.2/',
    'http://[::1]/',
    'http://10.0.0.1/',
    'http://inside.corp/',
    'file:///etc/passwd',
    'http://user:password@8.8.8.8/',
  ])('a redirect to %s is refused', async (location) => {
    const { url, requests } = await site((_, response) => response.writeHead(302, { location }).end())
    const resolve = async () => ['10.0.0.7']
    expect(await errorOf(fetchLocal(url, {}, { resolve }))).toMatchObject({ code: 'REFUSED' })
    expect(requests).toHaveLength(1)
  })

  it('a redirect is resolved and checked again, even to the same host', async () => {
    const { port } = await site((_, response) => response.writeHead(302, { location: '/again' }).end())
    const resolve = vi.fn(async () => ['10.0.0.1']).mockResolvedValueOnce(['127.0.0.1'])
    const error = await errorOf(fetchLocal(`http://site.test:${port}/`, {}, { resolve }))
    expect(error.reason).toBe('site.test is at 10.0.0.1, which is private')
    expect(resolve).toHaveBeenCalledTimes(2)
  })

  it('a redirect to another origin drops the credentials', async () => {
    const other = await site((_, response) => response.end('other'))
    const first = await site((_, response) => response.writeHead(307, { location: other.url }).end())
    const headers = {
      authorization: 'Bearer secret',
      'x-api-key': 'secret',
      cookie: 'a=b',
      accept: 'text/plain',
    }
    await (await fetchLocal(first.url, {}, { headers })).bytes()
    expect(first.requests[0]?.headers).toMatchObject(headers)
    expect(JSON.stringify(other.requests[0]?.rawHeaders)).not.toMatch(/secret|a=b/)
    expect(other.requests[0]?.headers.accept).toBe('text/plain')
  })

  it('at most three redirects are followed, or none if so configured', async () => {
    const { url, requests } = await site((request, response) => {
      const step = Number(request.url?.slice(1))
      if (step === 0) response.end('there')
      else response.writeHead(302, { location: `/${step - 1}` }).end()
    })
    expect(String(await (await fetchLocal(`${url}/3`)).bytes())).toBe('there')
    expect(requests.splice(0)).toHaveLength(4)
    expect(await errorOf(fetchLocal(`${url}/9`))).toMatchObject({
      code: 'TOO_MANY_REDIRECTS',
      retryable: false,
    })
    expect(requests.splice(0)).toHaveLength(4)
    const answer = await fetchLocal(`${url}/9`, { max_redirects: 0 })
    expect(answer).toMatchObject({ status: 302, headers: { location: '/8' } })
    answer.discard()
    expect(requests).toHaveLength(1)
  })
})
