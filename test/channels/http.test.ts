import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpOptions, httpChannel } from '../../src/channels/http.ts'
import { collect } from '../../src/channels/payload.ts'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import { refusal } from '../support/steps.ts'
import { OTHER_TASK, TASK } from './conformance.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const NAME = randomUUID()

const asked: string[] = []
const answers: Record<string, Answer> = {
  '/plain': (_, response) => response.end('0123456789'),
  '/gzip': (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('0123456789')),
  '/gone': (_, response) => response.writeHead(410).end(),
  '/broken': (_, response) => response.writeHead(500).end(),
  '/away': (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
  '/endless': (_, response) => {
    response.on('error', () => {})
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    }
    response.on('drain', write)
    write()
  },
  '/cut': (_, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('short', () => response.destroy())
  },
}

let base: string
let port: number
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`)
  const answer = answers[request.url ?? ''] ?? ((_, other) => other.writeHead(404).end())
  answer(request, response)
})
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  base = `http://127.0.0.1:${port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Permits loopback for the tests. */
const open = (options: HttpOptions = {}) =>
  httpChannel({
    ...options,
    egress: { allow_http: true, allowed_ports: 'any', allowed_private: ['127.0.0.1'], ...options.egress },
  })

const read = async (channel: ReturnType<typeof open>, pointer: string, taskId?: string) =>
  (await collect((await channel.get(pointer, { taskId })).read())).toString()

describe('results at a URL', () => {
  it('a URL is read with and without the channel name', async () => {
    for (const path of ['/plain', '/gzip']) {
      expect(await read(open(), `http:${base}${path}`)).toBe('0123456789')
      expect(await read(open(), `${base}${path}`, TASK)).toBe('0123456789')
      const { read: part } = await open().get(`${base}${path}`)
      expect((await collect(part({ offset: 3, length: 4 }))).toString()).toBe('3456')
    }
  })

  it('a URL that the egress guard refuses is not fetched', async () => {
    asked.length = 0
    const guarded = httpChannel()
    const pointers = [
      `http:${base}/plain`,
      'http:https://127.0.0.1/x',
      'http:https://[::1]/x',
      'http:https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/x',
      'http:file:///etc/passwd',
      'http:https://user:password@example.com/',
    ]
    for (const pointer of pointers) {
      expect(await refusal(read(guarded, pointer)), pointer).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    }
    expect(await refusal(read(open(), `${base}/away`))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    expect(asked).toEqual(['GET /away -'])
  })

  it('a result that is gone, broken, truncated or too large has its own error code', async () => {
    const codeOf = async (path: string, options: HttpOptions = {}) =>
      (await refusal(read(open(options), base + path))).code
    expect(await codeOf('/gone')).toBe('RESULT_NOT_FOUND')
    expect(await codeOf('/nothing')).toBe('RESULT_NOT_FOUND')
    expect(await codeOf('/broken')).toBe('CHANNEL_UNAVAILABLE')
    expect(await codeOf('/cut')).toBe('CHANNEL_UNAVAILABLE')
    expect(await codeOf('/endless', { maxBytes: 1_000_000 })).toBe('PAYLOAD_TOO_LARGE')
  })

  it('with anywhere false, only results below putUrl are read', async () => {
    const channel = open({ putUrl: `${base}/results`, anywhere: false })
    expect(await refusal(read(channel, `${base}/plain`))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
  })

  it('put requires putUrl', async () => {
    expect(await refusal(open().put(TASK, { a: 1 }))).toMatchObject({ code: 'CHANNEL_NOT_CONFIGURED' })
    expect(open().capabilities().max_size_bytes).toBe(0)
    await open().ack(`${base}/plain`)
  })
})

describe('credentials for putUrl', () => {
  it('credentials are sent to putUrl only', async () => {
    const channel = open({ putUrl: `${base}/results/`, headers: { authorization: 'Bearer secret' } })
    asked.length = 0
    await refusal(read(channel, `${base}/results/${TASK}/${NAME}`, TASK))
    await read(channel, `${base}/plain`, TASK)
    expect(asked).toEqual([`GET /results/${TASK}/${NAME} Bearer secret`, 'GET /plain -'])
  })

  it.each([
    `/results/${OTHER_TASK}/${NAME}`,
    `/results/${TASK}/../${OTHER_TASK}/${NAME}`,
    `/results/${TASK}/..%2f${OTHER_TASK}%2f${NAME}`,
    `/results/${TASK}/..%2f..%2finternal%2fsecret`,
    `/results/${TASK}/%2e%2e/${OTHER_TASK}/${NAME}`,
    `/results/${TASK}/${NAME}?versions`,
    `/results/${TASK}/${NAME}#part`,
    `/results/${TASK}/${NAME}/`,
    `/results/${TASK}/${NAME}/..;/secret`,
    `/results/${TASK}/sub/${NAME}`,
    `/results/${TASK}/..\\secret`,
    `/results/${TASK}/x`,
    `/results/${TASK}/`,
    `/results/${NAME}`,
  ])('a path outside of the folder of the task is refused: %s', async (path) => {
    const channel = open({ putUrl: `${base}/results/`, headers: { authorization: 'Bearer secret' } })
    asked.length = 0
    expect(await refusal(read(channel, `http:${base}${path}`, TASK))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    expect(await refusal(channel.ack(`http:${base}${path}`, { taskId: TASK }))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    expect(asked).toEqual([])
  })
})

describe('channel registry', () => {
  it('the registry has the configured channels, and https is http', () => {
    const channels = openChannels({ blob: { folder: '/nowhere' }, http: {} })
    expect(channels.names(1)).toEqual(['inline', 'blob', 'http'])
    expect(channels.find(1, 'https')?.name).toBe('http')
    expect(channels.find(1, 's3')).toBeUndefined()
    expect(channels.find(1, 'constructor')).toBeUndefined()
  })

  it('custom channels are accepted', async () => {
    const mine = { ...httpChannel(), name: 'gist' }
    const store = resultStore(openChannels({ others: [mine] }), null)
    expect(store.has(1, 'gist')).toBe(true)
    expect(store.has(1, 'blob')).toBe(false)
    expect(await refusal(store.ack({ tenant: 1, task_id: TASK }, 'blob:x'))).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
      details: { channel: 'blob', pointer: 'blob:x' },
    })
  })

  it('a payload over the limit of its channel is refused', async () => {
    const store = resultStore(openChannels({}), 'inline')
    const task = { tenant: 1, task_id: TASK, type: 't', principal_ai: 'a', owner: 'agent:a', summary: null }
    const put = (size: number) =>
      store.put(task, Buffer.alloc(size), {
        channel: 'inline',
        media_type: 'text/plain',
        max_bytes: 10 ** 9,
        reference: 'r',
      })
    expect(await put(16 * 1024)).toMatchObject({ size: 16 * 1024 })
    expect(await refusal(put(16 * 1024 + 1))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })
})
