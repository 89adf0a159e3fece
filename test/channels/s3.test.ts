import { hash, randomBytes } from 'node:crypto'
import { GetObjectCommand, PutObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { collect } from '../../src/channels/payload.ts'
import { type S3Options, s3Channel } from '../../src/channels/s3.ts'
import { S3_KEYS, type S3Server, startS3 } from '../support/s3.ts'
import { S3Error } from '../support/s3-error.ts'
import { refusal } from '../support/steps.ts'
import { TASK } from './conformance.ts'

const MIB = 1024 * 1024

let s3: S3Server
beforeAll(async () => {
  s3 = await startS3()
})
afterAll(() => s3.close())
afterEach(() => {
  s3.fault = undefined
  s3.requests.length = 0
  s3.forms.clear()
})

const open = (options: Partial<S3Options> = {}) =>
  s3Channel({
    bucket: 'results',
    endpoint: s3.endpoint,
    region: S3_KEYS.region,
    pathStyle: true,
    credentials: S3_KEYS,
    ...options,
  })

async function* random(count: number, sizeOfEach: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield randomBytes(sizeOfEach)
}

describe('small S3 results', () => {
  it('a small result is one request, with prefix, task and media type', async () => {
    const { pointer } = await open({ prefix: 'gate/' }).put(TASK, { a: 1 })
    expect(pointer).toMatch(new RegExp(`^s3:results/gate/${TASK}/[0-9a-f-]{36}$`))
    expect(s3.requests).toHaveLength(1)
    expect([...s3.forms]).toEqual(['hash'])
    expect(s3.bucket.get(pointer.slice('s3:results/'.length))).toMatchObject({
      size: 7,
      contentType: 'application/json',
      etag: `"${hash('md5', '{"a":1}')}"`,
    })
  })

  it('an object of another bucket or outside of the prefix is not found', async () => {
    const channel = open({ prefix: 'gate/' })
    const { pointer } = await channel.put(TASK, { a: 1 })
    const { pointer: bare } = await open().put(TASK, { a: 1 })
    s3.requests.length = 0
    for (const other of [bare, pointer.replace('results/', 'others/'), pointer.replace('gate/', 'gate')]) {
      expect(await refusal(channel.get(other)), other).toMatchObject({ code: 'RESULT_NOT_FOUND' })
      expect(await refusal(channel.ack(other)), other).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    }
    expect(s3.requests).toEqual([])
  })
})

describe('large S3 results', () => {
  it('a large result is uploaded in parts and read completely or in ranges', async () => {
    const channel = open()
    const { pointer, size, checksum } = await channel.put(TASK, random(20, MIB))
    expect(size).toBe(20 * MIB)
    expect(s3.requests.filter((line) => line.includes('partNumber='))).toHaveLength(3)
    expect(s3.bucket.get(pointer.slice('s3:results/'.length)).etag).toMatch(/-3"$/)
    const { read } = await channel.get(pointer, { taskId: TASK })
    const whole = await collect(read())
    expect(hash('sha256', whole)).toBe(checksum)
    const part = await collect(read({ offset: 8 * MIB - 2, length: 4 }))
    expect(part).toEqual(whole.subarray(8 * MIB - 2, 8 * MIB + 2))
  })

  it('a failed upload leaves no parts behind', async () => {
    const failing = async function* () {
      yield* random(17, MIB)
      throw new Error('the source broke')
    }
    await expect(open().put(TASK, failing())).rejects.toThrow('the source broke')
    expect(s3.requests.filter((line) => line.includes('uploads'))).toHaveLength(1)
    await expect.poll(() => s3.bucket.uploads.size).toBe(0)
  })

  it('a part that fails once is retried', async () => {
    let failures = 0
    s3.fault = (line) =>
      line.includes('partNumber=2') && failures++ === 0 ? new S3Error(500, 'InternalError') : undefined
    const channel = open()
    const { pointer, checksum } = await channel.put(TASK, random(18, MIB))
    expect(failures).toBe(2)
    expect(hash('sha256', await collect((await channel.get(pointer)).read()))).toBe(checksum)
  })

  it('a part that always fails is CHANNEL_UNAVAILABLE and leaves no parts behind', async () => {
    s3.fault = (line) => (line.includes('partNumber=2') ? new S3Error(403, 'AccessDenied') : undefined)
    expect(await refusal(open().put(TASK, random(18, MIB)))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    await expect.poll(() => s3.bucket.uploads.size).toBe(0)
  })
})

describe('S3 servers that refuse the channel', () => {
  it.each([
    ['a wrong secret', { credentials: { ...S3_KEYS, secretAccessKey: 'wrong' } }],
    ['an unknown key', { credentials: { ...S3_KEYS, accessKeyId: 'nobody' } }],
    ['another region', { region: 'us-east-1' }],
    ['a missing bucket', { bucket: 'absent' }],
    ['an address without a listener', { endpoint: 'http://127.0.0.1:1' }],
  ])('%s is reported as an outage, with the cause for the operator', async (_, options) => {
    const channel = open(options)
    const fault = await channel.put(TASK, { a: 1 }).catch((error) => error)
    expect(fault).toMatchObject({ code: 'CHANNEL_UNAVAILABLE', cause: expect.any(Error) })
    expect(JSON.stringify(fault)).not.toMatch(/wrong|nobody|127/)
  })
})

describe('the S3 server of the tests', () => {
  const client = (more: object = {}) =>
    new S3Client({
      endpoint: s3.endpoint,
      region: S3_KEYS.region,
      credentials: S3_KEYS,
      forcePathStyle: true,
      maxAttempts: 1,
      ...more,
    })
  const Bucket = 'results'

  it('the server accepts the default form: signed headers, unsigned body, trailing checksum', async () => {
    const bytes = randomBytes(300_000)
    const body = new PutObjectCommand({ Bucket, Key: 'k', Body: bytes, ChecksumAlgorithm: 'CRC32' })
    await client().send(body)
    const { Readable } = await import('node:stream')
    const streamed = new PutObjectCommand({
      Bucket,
      Key: 'streamed',
      Body: Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)]),
      ContentLength: bytes.length,
    })
    await client().send(streamed)
    expect([...s3.forms]).toContain('STREAMING-UNSIGNED-PAYLOAD-TRAILER')
    for (const Key of ['k', 'streamed']) {
      const { Body } = await client().send(new GetObjectCommand({ Bucket, Key }))
      expect(Buffer.from((await Body?.transformToByteArray()) ?? [])).toEqual(bytes)
    }
  })

  it('the server detects a changed body and changed headers', async () => {
    const spoil = (change: (request: { body?: unknown; headers: Record<string, string> }) => void) => {
      const spoiled = client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
      spoiled.middlewareStack.add(
        (next) => async (args) => {
          const request = args.request as { body?: unknown; headers: Record<string, string> }
          change(request)
          return next(args)
        },
        { step: 'finalizeRequest', priority: 'low' },
      )
      return spoiled.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'abc', ContentType: 'text/plain' }))
    }
    const nothing = spoil(() => {})
    await expect(nothing).resolves.toBeDefined()
    const body = spoil((request) => {
      request.body = 'abd'
    })
    await expect(body).rejects.toThrow('XAmzContentSHA256Mismatch')
    const head = spoil((request) => {
      request.headers['x-amz-meta-owner'] = 'mallory'
    })
    await expect(head).rejects.toThrow(/not signed/)
  })

  it('the server requires parts of 5 MiB, except the last, and the parts that were sent', async () => {
    const id = s3.bucket.begin('parts', 'text/plain')
    const send = (PartNumber: number, Body: Buffer) =>
      client().send(new UploadPartCommand({ Bucket, Key: 'parts', UploadId: id, PartNumber, Body }))
    const { ETag: first = '' } = await send(1, Buffer.alloc(5 * MIB - 1))
    const { ETag: last = '' } = await send(2, Buffer.from('x'))
    expect(() =>
      s3.bucket.complete(id, [
        { number: 1, etag: first },
        { number: 2, etag: last },
      ]),
    ).toThrow('EntityTooSmall')
    expect(() =>
      s3.bucket.complete(id, [
        { number: 2, etag: last },
        { number: 1, etag: first },
      ]),
    ).toThrow('InvalidPartOrder')
    expect(() => s3.bucket.complete(id, [{ number: 1, etag: last }])).toThrow('InvalidPart')
    expect(s3.bucket.complete(id, [{ number: 1, etag: first }]).size).toBe(5 * MIB - 1)
    expect(() => s3.bucket.complete(id, [{ number: 1, etag: first }])).toThrow('NoSuchUpload')
  })
})
