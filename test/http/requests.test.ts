import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { soon } from '../support/steps.ts'
import { createTask, listOf, readAnswer, servers, textOf } from './support.ts'

const ALICE = { principal_id: 'alice' }

/** The response of a server to raw bytes, until it closes the connection. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    answer += chunk
  })
  await soon(once(socket, 'close'))
  return answer
}

describeGates(
  'REST requests',
  (open) => {
    const serve = servers(open)

    it.each([
      ['{"type":"a","type":"b"}', 'appears twice'],
      ['{"type":"job","payload":{"__proto__":1}}', 'not an allowed key'],
      ['{"type":"job","payload":1e400}', 'not a finite number'],
      ['{"type":"job","payload":9007199254740993}', 'beyond 2^53'],
      [`{"type":"job","payload":${'['.repeat(65)}${']'.repeat(65)}}`, 'nested deeper'],
      ['{"type":"job\\u0000"}', 'NUL'],
      ['{"type":"\\ud800"}', 'lone surrogate'],
      ['{"type":"job","principal_id":"a\\u0000"}', 'is not a name'],
      ['{"type":"job","principal_id":"\\ud800"}', 'is not a name'],
      ['{"type":"job",}', 'not valid JSON'],
      ['[]', 'is not an object'],
      ['null', 'is not an object'],
      ['{"type":"job","typo":1}', 'Unrecognized key'],
    ])('the body %s is refused', async (body, problem) => {
      const { post } = await serve()
      const answer = await post('/v1/tasks', body)
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
      expect(answer.body.message).toContain(problem)
    })

    it('view=summary returns short rows, and the default whole objects', async () => {
      const served = await serve()
      const task_id = await createTask(served, { summary: 'One task' })
      const [full] = listOf(await served.get('/v1/tasks', ALICE), 'tasks')
      expect(full).toMatchObject({ task_id, payload: expect.anything(), created_at: expect.any(String) })
      const [row] = listOf(await served.get('/v1/tasks', { ...ALICE, view: 'summary' }), 'tasks')
      expect(row).toEqual({
        task_id,
        type: 'job',
        status: 'queued',
        age: expect.any(String),
        summary: 'One task',
      })
      for (const path of [`/v1/tasks/${task_id}`, `/v1/tasks/${task_id}/wait`]) {
        const { body } = await served.get(path, {
          ...ALICE,
          view: 'summary',
          ...(path.endsWith('wait') && { wait_seconds: '0' }),
        })
        expect(body).toMatchObject({ task_id, age: expect.any(String) })
        expect(body).not.toHaveProperty('max_attempts')
      }
    })

    it.each(['short', '', 'SUMMARY'])('view=%s is refused', async (view) => {
      const { get } = await serve()
      const answer = await get('/v1/tasks', { ...ALICE, view })
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
    })

    it.each([
      ['application/json', 200],
      ['application/json; charset=utf-8', 200],
      ['application/JSON;charset="UTF-8"', 200],
      ['application/vnd.api+json', 200],
      ['application/json; charset=latin1', 415],
      ['application/x-www-form-urlencoded', 415],
      ['text/plain', 415],
      ['text/json', 415],
      ['multipart/form-data; boundary=application/json', 415],
    ])('a body of type %s has status %i', async (type, status) => {
      const { post } = await serve()
      const answer = await post('/v1/tasks', { ...ALICE, type: 'job' }, { 'content-type': type })
      expect(answer.status).toBe(status)
    })

    it('a body without a type, compressed or not in UTF-8 is refused', async () => {
      const { port, post } = await serve()
      const untyped = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/tasks' })
      untyped.end('{"type":"job"}')
      const [message] = await once(untyped, 'response')
      expect((await readAnswer(message)).body.code).toBe('UNSUPPORTED_MEDIA_TYPE')
      const gzip = await post('/v1/tasks', '{"type":"job"}', { 'content-encoding': 'gzip' })
      expect(gzip.status).toBe(415)
      const bytes = request({
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/tasks',
        headers: { 'content-type': 'application/json' },
      })
      bytes.end(Buffer.from('{"type":"\xff"}', 'latin1'))
      const [answer] = await once(bytes, 'response')
      expect((await readAnswer(answer)).body).toMatchObject({ code: 'VALIDATION_ERROR' })
    })

    it('a request without a body has no fields', async () => {
      const served = await serve()
      const task_id = await createTask(served)
      const answer = await served.send('POST', `/v1/tasks/${task_id}/cancel?principal_id=alice`)
      expect(answer).toMatchObject({ status: 200, body: { ok: true } })
    })

    it('the caller is named in the body or the query, but not differently in both', async () => {
      const served = await serve()
      const byQuery = await served.post('/v1/tasks?principal_id=alice', { type: 'job' })
      const { task_id } = byQuery.body
      expect((await served.get(`/v1/tasks/${task_id}`, ALICE)).status).toBe(200)
      expect(await served.post('/v1/tasks?principal_id=bob', { ...ALICE, type: 'job' })).toMatchObject({
        status: 400,
        body: { details: { path: 'principal_id' } },
      })
      expect(await served.post(`/v1/tasks/${task_id}/cancel`, { ...ALICE, task_id: 'x' })).toMatchObject({
        status: 400,
        body: { details: { path: 'task_id' } },
      })
    })

    it('numbers in the query are validated like other fields', async () => {
      const { get } = await serve()
      for (const limit of ['0', '201', '1.5', 'ten', '', '1e1', '0x10']) {
        expect(await get('/v1/tasks', { ...ALICE, limit })).toMatchObject({
          status: 400,
          body: { details: { path: 'limit' } },
        })
      }
      expect(await get('/v1/tasks?limit=1&limit=2')).toMatchObject({ status: 400 })
      expect(await get('/v1/tasks?label.a=1&label.a=2')).toMatchObject({ status: 400 })
      expect(await get('/v1/tasks?label.__proto__=1&principal_id=alice')).toMatchObject({ status: 400 })
      expect(await get('/v1/tasks?__proto__=1&principal_id=alice')).toMatchObject({ status: 400 })
      expect(await get('/v1/tasks?nothing=1')).toMatchObject({ status: 400 })
    })

    it('a body that is too large is refused before it was sent completely', async () => {
      const { port, get } = await serve({ maxBodyBytes: 1000 })
      const sending = request({
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/tasks',
        headers: { 'content-type': 'application/json', 'content-length': 1e9 },
      })
      sending.write('x'.repeat(500))
      const [declared] = await soon(once(sending, 'response'))
      expect(await readAnswer(declared)).toMatchObject({
        status: 413,
        headers: { connection: 'close' },
        body: { code: 'PAYLOAD_TOO_LARGE', details: { limit_bytes: 1000 } },
      })
      const chunked = request({
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/tasks',
        headers: { 'content-type': 'application/json' },
      })
      chunked.on('error', () => {})
      const response = once(chunked, 'response')
      const ended = once(chunked, 'close')
      chunked.write('x'.repeat(2000))
      const [message] = await soon(response)
      expect((await readAnswer(message)).status).toBe(413)
      await soon(ended)
      expect((await get('/health/live')).status).toBe(200)
    })

    it('a connection serves the next request after one that was refused before its small body was read', async () => {
      const { port } = await serve()
      const refused = 'POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello'
      const last = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
      expect(await raw(port, refused + last)).toMatch(/^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 200 /)
    })

    it('a body that was sent completely before it is read gets its error response', async () => {
      const { post } = await serve({ maxBodyBytes: 1000 })
      for (let i = 0; i < 5; i++) {
        expect((await post('/v1/tasks', { type: 'job', payload: 'x'.repeat(3_000_000) })).status).toBe(413)
      }
    })

    it.each([
      ['evil.example', undefined],
      ['localhost.evil.example', undefined],
      ['127.0.0.1.nip.io:80', undefined],
      ['localhost', 'https://evil.example'],
      ['localhost', 'null'],
      ['localhost', 'http://localhost.evil.example'],
    ])('a request to the host "%s" from the origin %s is refused', async (host, origin) => {
      const { get, post } = await serve()
      const headers = { host, ...(origin !== undefined && { origin }) }
      for (const path of ['/v1/tasks', '/v1/events', '/openapi.json', '/docs', '/metrics']) {
        expect(await get(path, ALICE, headers)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
      }
      expect((await post('/lease', { worker_id: 'a.b' }, headers)).status).toBe(403)
      expect((await post('/worker/lease', { worker_id: 'a.b' }, headers)).status).toBe(403)
      // Probes use the address of the server.
      expect((await get('/health/ready', {}, headers)).status).toBe(200)
    })

    it('an allowed host and origin are accepted, and the page may read the response', async () => {
      const guard = { allowed_hosts: ['gate.example'], allowed_origins: ['https://app.example'] }
      const { get, send } = await serve({ guard })
      const headers = { host: 'gate.example:8443', origin: 'https://app.example' }
      expect(await get('/v1/tasks', ALICE, headers)).toMatchObject({
        status: 200,
        headers: { 'access-control-allow-origin': 'https://app.example', vary: 'Origin' },
      })
      expect(await send('OPTIONS', '/v1/tasks', undefined, headers)).toMatchObject({
        status: 204,
        headers: { 'access-control-allow-methods': 'GET, POST, PUT' },
      })
      const stranger = { ...headers, origin: 'https://other.example' }
      const preflight = await send('OPTIONS', '/v1/tasks', undefined, stranger)
      expect(preflight.status).toBe(405)
      expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
      const local = await get('/v1/tasks', ALICE, { origin: 'http://localhost:3000' })
      expect(local.status).toBe(200)
      expect(local.headers['access-control-allow-origin']).toBeUndefined()
    })

    it('a valid request id is kept', async () => {
      const { get } = await serve()
      const idOf = async (given: string) =>
        (await get('/v1/config', {}, { 'x-request-id': given })).headers['x-request-id']
      expect(await idOf('trace-1:a/b')).toBe('trace-1:a/b')
      expect(await idOf('a b')).toMatch(/^[0-9a-f-]{36}$/)
      expect(await idOf('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/)
    })

    it('responses have headers that prevent sniffing and caching', async () => {
      const { get } = await serve()
      const answer = await get('/v1/config', {}, { 'x-forwarded-proto': 'https' })
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
      })
      expect(answer.headers['x-powered-by']).toBeUndefined()
      expect(answer.headers.server).toBeUndefined()
    })

    it('HEAD is answered like GET without a body', async () => {
      const { send } = await serve()
      expect(await send('HEAD', '/health')).toMatchObject({ status: 200, text: '' })
    })

    it.each([
      ['/v1/tasks/', 404],
      ['/v1/tasks//cancel', 404],
      ['/v1//tasks', 404],
      ['/v1/tasks/%E0%A4%A', 404],
      ['/V1/tasks', 404],
      ['//evil.example/v1/tasks', 404],
    ])('the path %s has status 404', async (path, status) => {
      const { get } = await serve()
      expect((await get(path)).status).toBe(status)
    })

    it('input that is not HTTP gets an HTTP response', async () => {
      const { port, get } = await serve()
      expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"code":"VALIDATION_ERROR"/s)
      const large = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`
      expect(await raw(port, large)).toMatch(/^HTTP\/1\.1 431 /)
      expect((await get('/health/live')).status).toBe(200)
    })

    it('a request without a host is refused', async () => {
      const { port } = await serve()
      expect(await raw(port, 'GET /v1/config HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /)
    })

    it('a truncated body has no effect', async () => {
      const served = await serve()
      const socket = connect(served.port, '127.0.0.1')
      socket.write(
        'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"type":"job"',
      )
      await once(socket, 'connect')
      await served.get('/health/live')
      socket.destroy()
      expect(listOf(await served.get('/v1/tasks'), 'tasks')).toEqual([])
      expect(served.errors).toEqual([])
    })

    it('path parameters are accepted in any encoding', async () => {
      const served = await serve()
      const task_id = await createTask(served)
      const encoded = task_id.replace('-', '%2D')
      const answer = await served.get(`/v1/tasks/${encoded}`, ALICE)
      expect(textOf(answer, 'task_id')).toBe(task_id)
    })
  },
  ['sqlite'],
)
