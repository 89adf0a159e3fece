import { createHash, hash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  blobChannel,
  blobResults,
  channelResults,
  fileChannel,
  fileResults,
  gateResults,
  httpResults,
  inlineResults,
  s3Results,
  verified,
  type WorkerResults,
} from '../../src/channels/index.ts'
import type { ResultStore } from '../../src/features/results/result-store.ts'
import { GateError, task, worker } from '../../src/worker/index.ts'
import { type Served, servers } from '../http/support.ts'
import { agent, describeGates } from '../support/gates.ts'
import { S3_KEYS, startS3 } from '../support/s3.ts'
import { ask } from '../support/steps.ts'
import { pieces, TASK } from './conformance.ts'
import { emptyFolder, type Folder } from './folder.ts'
import { resultsOnDisk } from './store-on-disk.ts'

const MIB = 1024 * 1024

let results: ResultStore
let folder: Folder
beforeEach(() => {
  ;({ results, folder } = resultsOnDisk())
})
afterEach(() => folder.remove())

/** Runs one task with a worker and returns the task and the fetched result. */
async function done(
  { gate, url }: Served,
  definition: Parameters<typeof task>[1],
  given: (workerId: string) => WorkerResults | undefined,
) {
  const workerId = 'w1'
  const stop = new AbortController()
  const store = given(workerId)
  const running = worker({
    url,
    workerId,
    tasks: [task('job', definition)],
    signals: false,
    logger: false,
    ...(store && { results: store }),
  }).run({ signal: stop.signal })
  const { task_id } = await ask(gate)
  const ended = await gate.waitForTask(agent(), { task_id, wait_seconds: 20 })
  stop.abort()
  await running
  return { ended, fetched: await gate.fetchTaskResult(agent(), { task_id }) }
}

describeGates(
  'large results of a worker',
  (open) => {
    const start = () => servers(open)({ results, realTime: true, maxBodyBytes: 3 * MIB })
    const large = 'é'.repeat(MIB)

    it('gateResults uploads a result that is too large for a request', async () => {
      const served = await start()
      const { ended, fetched } = await done(served, { run: () => [large, large] }, (workerId) =>
        gateResults({ url: served.url, workerId }),
      )
      expect(ended).toMatchObject({ status: 'succeeded', result: { how_to_retrieve: {} } })
      expect(fetched).toMatchObject({ channel: 'blob', size: 4 * MIB + 7, media_type: 'application/json' })
      expect(fetched.checksum).toBe(hash('sha256', JSON.stringify([large, large])))
    })

    it('a result that fits into a request needs no result store', async () => {
      const served = await start()
      const { fetched } = await done(served, { run: () => large }, () => undefined)
      expect(fetched).toMatchObject({ channel: 'blob', size: 2 * MIB + 2 })
    })

    it('bytes are streamed to the channel of the task', async () => {
      const served = await start()
      const { fetched } = await done(served, { channel: 'file', run: () => pieces('ab', 'c') }, (workerId) =>
        gateResults({ url: `${served.url}/`, workerId }),
      )
      expect(fetched).toMatchObject({ channel: 'file', content: Buffer.from('abc').toString('base64') })
    })

    it('fileResults shares a folder with the server', async () => {
      const served = await start()
      const { fetched } = await done(served, { channel: 'file', run: () => ({ a: 1 }) }, () =>
        fileResults({ folder: join(folder.path, 'files') }),
      )
      expect(fetched).toMatchObject({ channel: 'file', content: { a: 1 }, checksum_valid: true })
    })

    it('a refused upload throws the reason', async () => {
      const served = await start()
      const { task_id } = await ask(served.gate)
      const put = gateResults({ url: served.url, workerId: 'w1' }).put(task_id, 1)
      await expect(put).rejects.toThrow(GateError)
      await expect(put).rejects.toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED', status: 409 })
    })
  },
  ['sqlite'],
)

describe('result stores of the SDK', () => {
  it('a result goes to the channel that the task names, or to the first', async () => {
    const own = emptyFolder()
    const both = channelResults(
      fileChannel({ folder: join(own.path, 'f') }),
      blobChannel({ folder: join(own.path, 'b') }),
    )
    expect(await both.put(TASK, { a: 1 })).toMatchObject({ channel: 'file' })
    expect(await both.put(TASK, { a: 1 }, 'blob')).toMatchObject({ channel: 'blob' })
    await expect(both.put(TASK, 1, 's3')).rejects.toThrow('s3, but this worker has only file, blob')
    own.remove()
  })

  it('values are stored as JSON, and bytes unchanged', async () => {
    const put = async (value: unknown) => {
      const { pointer, media_type } = await inlineResults().put(TASK, value)
      return [Buffer.from(pointer.slice('inline:'.length), 'base64').toString(), media_type]
    }
    expect(await put({ when: new Date(0), not: undefined })).toEqual([
      '{"when":"1970-01-01T00:00:00.000Z"}',
      'application/json',
    ])
    expect(await put(undefined)).toEqual(['null', 'application/json'])
    expect(await put(Buffer.from('abc'))).toEqual(['abc', 'application/octet-stream'])
    expect(await put(new Response('web').body)).toEqual(['web', 'application/octet-stream'])
  })

  it('every channel has a result store', async () => {
    const s3 = await startS3()
    const putServer = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(201).end())
    })
    await new Promise<void>((resolve) => putServer.listen(0, '127.0.0.1', resolve))
    const { port } = putServer.address() as AddressInfo
    const own = emptyFolder()
    const { endpoint } = s3
    const stores = {
      s3: s3Results({
        bucket: 'results',
        endpoint,
        region: S3_KEYS.region,
        pathStyle: true,
        credentials: S3_KEYS,
      }),
      http: httpResults({ putUrl: `http://127.0.0.1:${port}/x` }),
      blob: blobResults({ folder: own.path }),
    }
    for (const [channel, store] of Object.entries(stores)) {
      expect(await store.put(TASK, { a: 1 })).toMatchObject({ channel, size: 7 })
    }
    own.remove()
    putServer.close()
    await s3.close()
  })

  it('an upload is retried after a temporary failure, except for streams', async () => {
    let calls = 0
    const flaky = async () => {
      calls++
      return calls === 1
        ? Response.json({ code: 'CHANNEL_UNAVAILABLE', retryable: true }, { status: 503 })
        : Response.json({ pointer: 'blob:x', channel: 'blob', checksum: '', size: 1, media_type: '' })
    }
    const store = gateResults({ url: 'http://gate.example', workerId: 'w1', fetch: flaky })
    expect(await store.put(TASK, 1)).toMatchObject({ pointer: 'blob:x' })
    expect(calls).toBe(2)
    calls = 0
    await expect(store.put(TASK, pieces('a'))).rejects.toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    expect(calls).toBe(1)
  })
})

describe('verified content', () => {
  const expected = (text: string) => ({
    checksum: createHash('sha256').update(text).digest('hex'),
    size: text.length,
  })
  const read = async (content: AsyncIterable<Uint8Array>) => {
    const chunks: string[] = []
    try {
      for await (const chunk of content) chunks.push(Buffer.from(chunk).toString())
    } catch (error) {
      return [...chunks, error instanceof Error && 'code' in error ? error.code : error]
    }
    return chunks
  }

  it('valid content is passed on completely', async () => {
    expect(await read(verified(pieces('ab', 'cd'), expected('abcd')))).toEqual(['ab', 'cd'])
    expect(await read(verified(pieces(), expected('')))).toEqual([])
    expect(await read(verified(pieces('ab'), {}))).toEqual(['ab'])
  })

  it('the last chunk of invalid content is withheld', async () => {
    expect(await read(verified(pieces('ab', 'cx'), expected('abcd')))).toEqual(['ab', 'RESULT_CORRUPT'])
    expect(await read(verified(pieces('ab', 'cde'), { size: 4 }))).toEqual(['ab', 'RESULT_CORRUPT'])
    expect(await read(verified(pieces(), expected('a')))).toEqual(['RESULT_CORRUPT'])
  })
})
