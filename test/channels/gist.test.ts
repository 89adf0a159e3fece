import { hash, randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type GistOptions, gistChannel } from '../../src/channels/gist.ts'
import { collect } from '../../src/channels/payload.ts'
import { GIST_TOKEN, type GistServer, READING_TOKEN, startGists } from '../support/gist.ts'
import { refusal } from '../support/steps.ts'
import { OTHER_TASK, TASK } from './conformance.ts'

let api: GistServer
beforeAll(async () => {
  api = await startGists()
})
afterAll(() => api.close())
afterEach(() => {
  api.fault = undefined
  api.rawUrl = undefined
  api.requests.length = 0
  api.gists.clear()
})

const open = (options: Partial<GistOptions> = {}) =>
  gistChannel({ apiUrl: api.url, token: GIST_TOKEN, ...options })
const content = async (pointer: string) => collect((await open().get(pointer, { taskId: TASK })).read())

describe('results in gists', () => {
  it('a result is one readable file of a secret gist', async () => {
    const { pointer } = await open().put(TASK, { text: 'grüß dich', n: 1 })
    const [[id, gist] = []] = api.gists
    expect(pointer).toBe(`gist:${id}/${TASK}.json`)
    expect(gist).toMatchObject({ public: false, description: `AsyncGate: result of task ${TASK}` })
    expect(gist?.files.get(`${TASK}.json`)?.toString()).toBe('{"n":1,"text":"grüß dich"}')
    const { pointer: note } = await open().put(TASK, Buffer.from('plain'), { media_type: 'text/plain' })
    expect(note).toMatch(/\.txt$/)
  })

  it('a gist is public only with isPublic', async () => {
    await open({ isPublic: true }).put(TASK, 'x')
    expect([...api.gists.values()]).toMatchObject([{ public: true }])
  })

  it.each([
    ['bytes', randomBytes(1000)],
    ['nothing', Buffer.alloc(0)],
    ['blank text', Buffer.from(' \n\t ')],
    ['text with CRLF line ends', Buffer.from('a\r\nb\r\n')],
    ['text with a byte order mark', Buffer.from('\uFEFFabc')],
    ['text with a NUL', Buffer.from('a\0b')],
    ['half a character', Buffer.from([0x61, 0xe2, 0x82])],
  ])('a result of %s is returned unchanged', async (_, bytes) => {
    const { pointer, size } = await open().put(TASK, bytes, { media_type: 'image/png, "x"' })
    expect(pointer).toMatch(/\.base64$/)
    expect(size).toBe(bytes.length)
    expect(await content(pointer)).toEqual(bytes)
  })

  it.each([
    ['text', Buffer.from('é'.repeat(2_000_000))],
    ['bytes', randomBytes(7_000_000)],
  ])('a truncated result of %s is read from its raw URL', async (_, bytes) => {
    const { pointer, checksum } = await open().put(TASK, bytes)
    expect(hash('sha256', await content(pointer))).toBe(checksum)
    expect(api.requests.at(-1)).toMatch(/^GET \/raw\//)
  })

  it.each([
    ['text', Buffer.alloc(10_000_001, 'a')],
    ['bytes', Buffer.alloc(8_000_000, 0)],
  ])('a result whose %s could not be read back is refused before it is sent', async (_, bytes) => {
    expect(await refusal(open().put(TASK, bytes))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(api.requests).toEqual([])
  })

  it('only the exact pointer is found, and other gists of the account are not touched', async () => {
    const channel = open()
    const { pointer } = await channel.put(OTHER_TASK, 'theirs')
    const [id = ''] = api.gists.keys()
    const forged = [
      `gist:${id}/${TASK}.json`,
      `gist:${id}/${OTHER_TASK}.txt`,
      `gist:${id}/../${OTHER_TASK}.json`,
      `gist:${id}?x=/${OTHER_TASK}.json`,
      `gist:../user/${OTHER_TASK}.json`,
      `gist:${id}`,
    ]
    for (const other of forged) {
      expect(await refusal(channel.get(other)), other).toMatchObject({ code: 'RESULT_NOT_FOUND' })
      await channel.ack(other).catch(() => {})
    }
    expect(await refusal(channel.get(pointer, { taskId: TASK }))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    expect(await refusal(channel.ack(pointer, { taskId: TASK }))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    expect([...api.gists.keys()]).toEqual([id])
    expect(api.requests.filter((line) => line.startsWith('DELETE'))).toEqual([])
  })

  it('a modified gist is reported as RESULT_CORRUPT', async () => {
    const { pointer } = await open().put(TASK, Buffer.from([255]))
    const [[id = '', gist] = []] = api.gists
    if (gist !== undefined) {
      api.gists.set(id, { ...gist, files: new Map([[`${TASK}.base64`, Buffer.from('edited')]]) })
    }
    expect(await refusal(content(pointer))).toMatchObject({ code: 'RESULT_CORRUPT' })
  })
})

describe('failures of the gist API', () => {
  /** Fails n times, then succeeds. */
  const failing = (times: number, status: number, headers: Record<string, string> = {}) => {
    let left = times
    api.fault = () => (left-- > 0 ? { status, headers } : undefined)
  }

  it.each([
    ['502', 502, {}],
    ['429 with Retry-After', 429, { 'retry-after': '0' }],
    ['403 with Retry-After', 403, { 'retry-after': '0' }],
    ['403 with an exhausted rate limit', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }],
  ])('a request is retried after %s', async (_, status, headers) => {
    failing(2, status, headers)
    const { pointer } = await open().put(TASK, 'x')
    expect(api.requests).toHaveLength(3)
    failing(1, status, headers)
    expect((await content(pointer)).toString()).toBe('"x"')
    failing(1, status, headers)
    await open().ack(pointer)
    expect(api.gists.size).toBe(0)
  })

  it.each([
    ['asks for a long pause', 429, { 'retry-after': '3600' }, 1],
    ['stays busy', 503, { 'retry-after': '0' }, 3],
    ['refuses', 403, {}, 1],
    ['refuses the content', 422, {}, 1],
  ])('an API that %s is CHANNEL_UNAVAILABLE', async (_, status, headers, requests) => {
    failing(10, status, headers)
    expect(await refusal(open().put(TASK, 'x'))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    expect(api.requests).toHaveLength(requests)
  })

  it.each([
    ['a wrong token', { token: 'ghp_wrong' }, 'the token is not valid'],
    ['a token without permission', { token: READING_TOKEN }, 'the token lacks permission to write gists'],
    ['an address without a listener', { apiUrl: 'http://127.0.0.1:1' }, ''],
  ])('the cause is reported to the operator only: %s', async (_, options, why) => {
    const fault = await open(options)
      .put(TASK, 'x')
      .catch((error) => error)
    expect(fault).toMatchObject({ code: 'CHANNEL_UNAVAILABLE', cause: expect.any(Error) })
    expect(fault.cause.message).toContain(why)
    expect(JSON.stringify(fault)).not.toMatch(/ghp_|127/)
    expect(String(fault.cause)).not.toContain('ghp_')
  })

  it('the token is not sent to another host, and private addresses are refused', async () => {
    const { pointer } = await open().put(TASK, Buffer.alloc(2_000_000, 'a'))
    api.rawUrl = 'http://127.0.0.1:9'
    const fault = await open()
      .get(pointer)
      .catch((error) => error)
    expect(fault).toMatchObject({ code: 'CHANNEL_UNAVAILABLE', cause: { code: 'REFUSED' } })
  })
})
