import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SubmitOptions } from '../../src/client/index.ts'
import { retryAfterSeconds } from '../../src/egress/retry-after.ts'
import { bodyText, httpGet } from '../../src/reference-workers/http-get.ts'
import { LOCAL, site } from '../egress/site.ts'
import { openTestGate, outcomeOf, type TestGate, work } from './support.ts'

let gate: TestGate
beforeAll(async () => {
  gate = await openTestGate()
})
afterAll(() => gate.close())

function get(payload: object, options: SubmitOptions = {}) {
  work(gate, [httpGet({ ...LOCAL, max_bytes: 1000, total_timeout_ms: 2_000 })])
  return outcomeOf(gate, 'http_get', payload, { max_attempts: 5, retry_backoff_seconds: 0, ...options })
}

describe('http_get', () => {
  it('the result has status, headers and text', async () => {
    const { url, requests } = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip', 'x-seen': 'yes' })
      response.end(gzipSync('gr\u00fc\u00dfe'))
    })
    expect(await get({ url: `${url}/page`, headers: { authorization: 'Bearer token' } })).toMatchObject({
      status: 'succeeded',
      result: {
        url: `${url}/page`,
        status: 200,
        headers: { 'content-type': 'text/plain', 'x-seen': 'yes' },
        body: 'gr\u00fc\u00dfe',
        encoding: 'text',
        bytes: 7,
        truncated: false,
      },
    })
    expect(requests[0]?.headers.authorization).toBe('Bearer token')
  })

  it('a body that is not text is base64', async () => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff])
    const { url } = await site((_, response) => response.end(bytes))
    expect(await get({ url })).toMatchObject({
      result: { body: bytes.toString('base64'), encoding: 'base64', bytes: 6 },
    })
  })

  it('the body is truncated at max_bytes and at the limit of the operator', async () => {
    const { url } = await site((_, response) => response.end('x'.repeat(5000)))
    const cut = await get({ url, max_bytes: 10 })
    expect(cut).toMatchObject({ result: { body: 'x'.repeat(10), bytes: 10, truncated: true } })
    const more = await get({ url, max_bytes: 1_000_000 })
    expect(more).toMatchObject({ result: { bytes: 1000, truncated: true } })
  })

  it('redirects are followed, and the result has the final URL', async () => {
    const { url } = await site((request, response) => {
      if (request.url === '/end') response.end('there')
      else response.writeHead(301, { location: '/end' }).end()
    })
    expect(await get({ url })).toMatchObject({ result: { url: `${url}/end`, body: 'there' } })
  })

  it.each([400, 401, 403, 404, 410, 422, 451])('HTTP %i fails permanently', async (status) => {
    const { url, requests } = await site((_, response) => response.writeHead(status).end('no'))
    expect(await get({ url })).toMatchObject({
      status: 'failed',
      error: { code: `HTTP_${status}`, message: `The server responded with HTTP ${status}.` },
    })
    expect(requests).toHaveLength(1)
  })

  it.each([408, 425, 429, 500, 502, 503, 504])('HTTP %i is retried', async (status) => {
    const { url, requests } = await site((_, response) => {
      if (requests.length > 1) response.end('better')
      else response.writeHead(status, { 'retry-after': '0' }).end()
    })
    expect(await get({ url })).toMatchObject({ status: 'succeeded', result: { body: 'better' } })
    expect(requests).toHaveLength(2)
  })

  it('the retry waits as long as Retry-After says', async () => {
    const { url, requests } = await site((_, response) => {
      response.writeHead(429, { 'retry-after': '3000' }).end()
    })
    work(gate, [httpGet(LOCAL)])
    const { id } = await gate.agent.submit('http_get', { url }, { max_attempts: 2 })
    const signal = AbortSignal.timeout(20_000)
    let task = await gate.agent.getTask({ task_id: id })
    while (task.next_eligible_at === null && !signal.aborted) task = await gate.agent.getTask({ task_id: id })
    const wait = Date.parse(task.next_eligible_at ?? '') - Date.now()
    expect(wait).toBeGreaterThan(2_900_000)
    expect(wait).toBeLessThanOrEqual(3_000_000)
    expect(requests).toHaveLength(1)
    await gate.agent.cancelTask({ task_id: id })
  })

  it('private addresses are refused permanently, and only the operator learns why', async () => {
    const lines: object[] = []
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void lines.push(fields) }
    work(gate, [httpGet()], { logger })
    for (const url of [
      'http://127.0.0.1/',
      'https://localhost/',
      'https://[::1]/',
      'https://169.254.169.254/',
    ]) {
      expect(await outcomeOf(gate, 'http_get', { url }, { max_attempts: 5 })).toMatchObject({
        status: 'failed',
        error: {
          code: 'REFUSED',
          message: 'This URL is not allowed, or the host does not exist.',
        },
      })
    }
    expect(JSON.stringify(lines)).toContain('169.254.169.254 is at 169.254.169.254, which is reserved')
  })

  it('a timeout is retried', async () => {
    const { url, requests } = await site((_, response) => {
      if (requests.length > 1) response.end('late')
    })
    work(gate, [httpGet({ ...LOCAL, total_timeout_ms: 300 })])
    const options = { max_attempts: 9, retry_backoff_seconds: 0 }
    expect(await outcomeOf(gate, 'http_get', { url }, options)).toMatchObject({
      status: 'succeeded',
      result: { body: 'late' },
    })
    expect(requests.length).toBeGreaterThan(1)
  })

  it.each([
    [{}, 'url'],
    [{ url: 7 }, 'url'],
    [{ url: 'https://site.example', max_bytes: 0 }, 'max_bytes'],
    [{ url: 'https://site.example', method: 'POST' }, 'method'],
    [{ url: 'https://site.example', headers: { a: 1 } }, 'headers'],
    [{ url: 'https://site.example', headers: { Host: 'evil' } }, 'the header Host cannot be set'],
    [{ url: 'https://site.example', headers: { 'X\r\n': 'a' } }, 'characters that a header cannot have'],
  ])('the payload %j is refused permanently', async (payload, said) => {
    const { status, error } = await get(payload)
    expect(status).toBe('failed')
    expect(JSON.stringify(error)).toContain(said)
  })
})

describe('text of a body', () => {
  it.each([
    ['as UTF-8 by default', Buffer.from('\u00e4'), undefined, '\u00e4'],
    ['with the named charset', Buffer.from([0xe4]), 'text/html; charset=ISO-8859-1', '\u00e4'],
    ['with a quoted charset', Buffer.from([0xe4]), 'text/html; a=b; Charset="latin1"', '\u00e4'],
  ])('the text is decoded %s', (_, bytes, type, text) => {
    expect(bodyText(bytes, type, false)).toEqual({ body: text, encoding: 'text' })
  })

  it.each([
    ['not valid', Buffer.from([0xe4]), 'text/plain'],
    ['in an unknown charset', Buffer.from('a'), 'text/plain; charset=klingon'],
    ['text with a NUL', Buffer.from('a\0b'), 'text/plain'],
  ])('the body is base64 if it is %s', (_, bytes, type) => {
    expect(bodyText(bytes, type, false)).toEqual({ body: bytes.toString('base64'), encoding: 'base64' })
  })

  it('a character that was cut in half is dropped', () => {
    const bytes = Buffer.from('a\u20ac').subarray(0, 3)
    expect(bodyText(bytes, undefined, true)).toEqual({ body: 'a', encoding: 'text' })
    expect(bodyText(bytes, undefined, false).encoding).toBe('base64')
  })
})

describe('Retry-After', () => {
  const date = 'Sun, 01 Mar 2026 10:00:00 GMT'

  it.each([
    [undefined, undefined],
    ['5', 5],
    ['0', 0],
    ['999999', 3600],
    ['Sun, 01 Mar 2026 10:01:30 GMT', 90],
    ['Sun, 01 Mar 2026 09:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['', undefined],
  ])('%j is %j seconds', (header, seconds) => {
    expect(retryAfterSeconds(header, date)).toBe(seconds)
  })
})
