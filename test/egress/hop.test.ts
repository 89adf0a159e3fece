import { describe, expect, it } from 'vitest'
import { EgressError } from '../../src/egress/error.ts'
import { firstHop, type Hop, nextHop } from '../../src/egress/hop.ts'

const headers = {
  Authorization: 'Bearer secret',
  Cookie: 'a=b',
  'X-Api-Key': 'secret',
  Accept: 'text/html',
  'Content-Type': 'text/plain',
}
const get = firstHop('https://one.example/a', 'GET', headers)
const post = firstHop('https://one.example/a', 'POST', headers, 'hello')

function refusal(hop: Hop, status: number, location: string): string | undefined {
  try {
    nextHop(hop, status, location)
    return undefined
  } catch (error) {
    if (error instanceof EgressError) return error.code
    throw error
  }
}

describe('nextHop', () => {
  it('a redirect is a 3xx response with a location', () => {
    for (const status of [200, 300, 304, 305, 404]) expect(nextHop(get, status, '/b')).toBeUndefined()
    expect(nextHop(get, 302, undefined)).toBeUndefined()
    for (const status of [301, 302, 303, 307, 308]) {
      expect(nextHop(get, status, '../b?c')).toMatchObject({ url: 'https://one.example/b?c', method: 'GET' })
    }
    expect(refusal(get, 302, 'https://')).toBe('BAD_RESPONSE')
  })

  it('a redirect within the origin keeps the headers', () => {
    expect(nextHop(get, 302, '/b')?.headers).toMatchObject({ authorization: 'Bearer secret', cookie: 'a=b' })
  })

  it.each(['https://two.example/', 'https://one.example:8443/', 'https://sub.one.example/', '//two.example'])(
    'a redirect to %s, another origin, drops the credentials',
    (location) => {
      expect(nextHop(get, 302, location)?.headers).toEqual({ accept: 'text/html', 'user-agent': 'asyncgate' })
    },
  )

  it('a redirect from https to http is refused', () => {
    expect(refusal(get, 302, 'http://one.example/a')).toBe('REFUSED')
    expect(nextHop(firstHop('http://one.example'), 302, 'https://one.example')).toBeDefined()
  })

  it('a redirect changes POST to GET or keeps it, depending on the status', () => {
    for (const status of [301, 302, 303]) {
      const next = nextHop(post, status, '/b')
      expect(next).toMatchObject({ method: 'GET', body: undefined })
      expect(next?.headers).not.toHaveProperty('content-type')
    }
    for (const status of [307, 308]) {
      expect(nextHop(post, status, '/b')).toMatchObject({ method: 'POST', body: 'hello' })
    }
    expect(nextHop(firstHop('https://one.example', 'HEAD'), 303, '/b')?.method).toBe('HEAD')
    expect(nextHop(firstHop('https://one.example', 'PUT', {}, 'x'), 302, '/b')?.method).toBe('PUT')
  })

  it('a redirect is refused if it would send a body to another origin or repeat a stream', () => {
    expect(refusal(post, 307, 'https://two.example/')).toBe('REFUSED')
    async function* once() {
      yield new Uint8Array(1)
    }
    expect(refusal(firstHop('https://one.example', 'PUT', {}, once()), 307, '/b')).toBe('REFUSED')
  })
})

describe('request headers', () => {
  it.each([
    'Host',
    'Connection',
    'Content-Length',
    'Transfer-Encoding',
    'Upgrade',
    'Proxy-Authorization',
    'TE',
  ])('the header %s cannot be set', (name) => {
    expect(() => firstHop('https://one.example', 'GET', { [name]: 'x' })).toThrow(`the header ${name} cannot`)
  })

  it.each([
    ['X', 'a\r\nHost: evil.example'],
    ['X\r\nY', 'a'],
    ['X Y', 'a'],
    ['', 'a'],
    ['X', 'snow \u2603'],
  ])('a header with invalid characters is refused: %j %j', (name, value) => {
    expect(() => firstHop('https://one.example', 'GET', { [name]: value })).toThrow('characters')
  })
})
