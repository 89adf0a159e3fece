import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ResultStore } from '../../src/features/results/result-store.ts'
import { heldTask, KEY, readAnswer, type Served, type ServeOptions, servers } from '../http/support.ts'
import { describeGates, type Open } from '../support/gates.ts'
import { soon } from '../support/steps.ts'
import type { Folder } from './folder.ts'
import { resultsOnDisk } from './store-on-disk.ts'

const MIB = 1024 * 1024

let results: ResultStore
let folder: Folder
let blobs: () => string[]
beforeEach(() => {
  ;({ results, folder, blobs } = resultsOnDisk())
})
afterEach(() => folder.remove())

const start = (open: Open, options: ServeOptions = {}) => servers(open)({ results, ...options })

type Held = Awaited<ReturnType<typeof heldTask>>

function put(
  { url }: Served,
  { task_id, ...lease }: Held,
  body: string | Buffer,
  more: Record<string, string> = {},
) {
  const { type = 'application/octet-stream', ...query } = more
  const search = new URLSearchParams({ ...lease, ...query })
  return fetch(`${url}/v1/tasks/${task_id}/result?${search}`, {
    method: 'PUT',
    headers: { 'content-type': type },
    body,
  })
}

function get({ url }: Served, task_id: string, headers: Record<string, string> = {}, method = 'GET') {
  return fetch(`${url}/v1/tasks/${task_id}/result?principal_id=alice`, { method, headers })
}

async function complete(served: Served, held: Held, artifact: unknown) {
  const { status } = await served.post(`/v1/tasks/${held.task_id}/complete`, {
    ...held,
    result: artifact,
    artifacts: [artifact],
  })
  expect(status).toBe(200)
}

/** Uploads a result of that many bytes and completes the task with it. */
async function stored(served: Served, size: number, type = 'application/x-thing') {
  const held = await heldTask(served)
  const bytes = randomBytes(size)
  const answer = await put(served, held, bytes, { type })
  expect(answer.status).toBe(200)
  const artifact: unknown = await answer.json()
  await complete(served, held, artifact)
  return { bytes, artifact, held, task_id: held.task_id, checksum: hash('sha256', bytes) }
}

describeGates(
  'results over HTTP',
  (open) => {
    it('results are uploaded and downloaded as plain bytes, beyond the body limit', async () => {
      const served = await start(open, { maxBodyBytes: 1024 })
      const { bytes, artifact, task_id, checksum } = await stored(served, 3 * MIB)
      expect(artifact).toEqual({
        pointer: `blob:main/${checksum}`,
        channel: 'blob',
        checksum,
        size: 3 * MIB,
        media_type: 'application/x-thing',
      })
      const answer = await get(served, task_id)
      expect(answer.status).toBe(200)
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
      const base64 = Buffer.from(checksum, 'hex').toString('base64')
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'application/x-thing',
        'content-length': String(3 * MIB),
        etag: `"${checksum}"`,
        digest: `sha-256=${base64}`,
        'repr-digest': `sha-256=:${base64}:`,
        'accept-ranges': 'bytes',
        'content-disposition': 'attachment',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
    })

    it('an inline result is downloaded as JSON', async () => {
      const served = await start(open)
      const held = await heldTask(served)
      await served.post(`/v1/tasks/${held.task_id}/complete`, { ...held, result: { a: 1 } })
      const answer = await get(served, held.task_id)
      expect(answer.headers.get('content-type')).toBe('application/json')
      expect(await answer.text()).toBe('{"a":1}')
    })

    it('HEAD describes a result, and ranges return parts of it', async () => {
      const served = await start(open)
      const { bytes, task_id } = await stored(served, 1000)
      const head = await get(served, task_id, {}, 'HEAD')
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '1000', ''])
      const parts = [
        ['bytes=0-9', 0, 10],
        ['bytes=990-', 990, 1000],
        ['bytes=5-99999', 5, 1000],
      ] as const
      for (const [range, from, to] of parts) {
        const part = await get(served, task_id, { range })
        expect(part.status, range).toBe(206)
        expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to - 1}/1000`)
        expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(from, to))
      }
      expect((await get(served, task_id, { range: 'bytes=-5' })).status).toBe(200)
      const beyond = await get(served, task_id, { range: 'bytes=1000-' })
      expect([beyond.status, await beyond.json()]).toMatchObject([400, { details: { path: 'range' } }])
    })

    it('a damaged download breaks off before its end, and a short one is refused', async () => {
      const served = await start(open)
      const { task_id } = await stored(served, 3 * MIB)
      const path = join(folder.path, blobs()[0] ?? '')
      const damaged = readFileSync(path)
      damaged[3 * MIB - 1] = (damaged[3 * MIB - 1] ?? 0) ^ 1
      writeFileSync(path, damaged)
      const answer = await get(served, task_id)
      expect(answer.status).toBe(200)
      await expect(answer.arrayBuffer()).rejects.toThrow()
      const small = await stored(served, 10)
      const file = blobs().find((name) => name.endsWith(small.checksum)) ?? ''
      writeFileSync(join(folder.path, file), 'x'.repeat(10))
      const refused = await get(served, small.task_id)
      expect([refused.status, await refused.json()]).toMatchObject([502, { code: 'RESULT_CORRUPT' }])
    })

    it('a media type that is not a valid header is served as bytes', async () => {
      const served = await start(open)
      const held = await heldTask(served)
      const artifact = { ...Object(await (await put(served, held, 'x')).json()), media_type: 'a\r\nb: c' }
      await complete(served, held, artifact)
      expect((await get(served, held.task_id)).headers.get('content-type')).toBe('application/octet-stream')
    })

    it('invalid requests are refused with their error code', async () => {
      const served = await start(open)
      const held = await heldTask(served)
      const { task_id } = await stored(served, 10)
      const cases: [Promise<Response>, number, string][] = [
        [put(served, held, 'x', { lease_id: 'other' }), 409, 'LEASE_INVALID_OR_EXPIRED'],
        [put(served, held, 'x', { unknown: 'field' }), 400, 'VALIDATION_ERROR'],
        [put(served, held, 'x', { type: 'nonsense' }), 400, 'VALIDATION_ERROR'],
        [put(served, held, 'x', { checksum: hash('sha256', 'y') }), 400, 'VALIDATION_ERROR'],
        [get(served, held.task_id), 404, 'RESULT_NOT_FOUND'],
        [get(served, 'nonsense'), 404, 'TASK_NOT_FOUND'],
        [fetch(`${served.url}/v1/tasks/${task_id}/result?principal_id=eve`), 403, 'FORBIDDEN'],
        [fetch(`${served.url}/v1/tasks/${task_id}/result?artifact=x`), 400, 'VALIDATION_ERROR'],
      ]
      for (const [answer, status, code] of cases) {
        expect(await (await answer).json()).toMatchObject({ code })
        expect((await answer).status).toBe(status)
      }
      const compressed = await fetch(`${served.url}/v1/tasks/${held.task_id}/result?worker_id=w1`, {
        method: 'PUT',
        headers: { 'content-encoding': 'gzip' },
        body: 'x',
      })
      expect(compressed.status).toBe(415)
    })

    it('upload and download require the key', async () => {
      const served = await start(open, { auth: { api_key: KEY, allow_insecure_dev: false } })
      for (const method of ['GET', 'PUT']) {
        const answer = await fetch(`${served.url}/v1/tasks/x/result`, { method })
        expect(answer.status).toBe(401)
      }
    })

    it('an upload that is too large is refused while it is being sent', async () => {
      const served = await start(open, { settings: { result_max_bytes: MIB } })
      const held = await heldTask(served)
      const { task_id, ...lease } = held
      const sent = request({
        port: served.port,
        method: 'PUT',
        path: `/v1/tasks/${task_id}/result?${new URLSearchParams(lease)}`,
      })
      sent.on('error', () => {})
      const answered = once(sent, 'response')
      // More than the socket buffers hold, so that the response arrives before the upload is complete.
      for (let i = 0; i < 30; i++) sent.write(Buffer.alloc(MIB))
      const answer = await readAnswer((await soon(answered))[0])
      expect(answer).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
      sent.destroy()
      const announced = await put(served, held, Buffer.alloc(MIB + 1))
      expect(announced.status).toBe(413)
      expect(folder.files()).toEqual([])
      expect((await put(served, held, Buffer.alloc(MIB))).status).toBe(200)
    })

    it('an upload whose client disconnects leaves nothing behind', async () => {
      const served = await start(open)
      const { task_id, ...lease } = await heldTask(served)
      const socket = connect(served.port, '127.0.0.1')
      socket.write(
        `PUT /v1/tasks/${task_id}/result?${new URLSearchParams(lease)} HTTP/1.1\r\n` +
          'Host: localhost\r\nContent-Length: 1000000\r\n\r\nthe beginning',
      )
      await expect.poll(() => folder.files()).toHaveLength(1)
      socket.destroy()
      await expect.poll(() => folder.files()).toEqual([])
    })

    it.skipIf(process.platform !== 'linux')(
      'a download whose client disconnects leaves no file open',
      async () => {
        const served = await start(open)
        const { task_id } = await stored(served, 40 * MIB)
        const leaving = new AbortController()
        const answer = await fetch(`${served.url}/v1/tasks/${task_id}/result`, { signal: leaving.signal })
        await answer.body?.getReader().read()
        expect(openBlobs()).toBe(1)
        leaving.abort()
        await expect.poll(openBlobs).toBe(0)
      },
    )
  },
  ['sqlite'],
)

/** Files of the channel that this process has open. */
function openBlobs(): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return targets.filter((target) => target.startsWith(join(folder.path, 'blobs'))).length
}
