import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { loadOptional } from '../util/load-optional.ts'
import { type Channel, capable, type Part } from './channel.ts'
import { Meter, sourceOf, WHOLE } from './payload.ts'
import { checkTaskId, dataOf, notFound, orUnavailable, unavailable } from './pointer.ts'

export interface S3Options {
  readonly bucket: string
  /** The endpoint of an S3-compatible server; that of Amazon by default. */
  readonly endpoint?: string | undefined
  readonly region?: string | undefined
  /** The prefix of every key, as in `results/`. */
  readonly prefix?: string | undefined
  /** Whether the bucket is in the path instead of the host name, which most other servers require. */
  readonly pathStyle?: boolean | undefined
  /** By default those that the AWS SDK finds, in the environment first. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
}

/** An upload has at most 10,000 parts, which allows 80 GB. Three concurrent parts take 24 MiB of memory. */
const PART_BYTES = 8 * 1024 * 1024
const CONCURRENT_PARTS = 3

const CONNECT_MS = 5_000
const SILENCE_MS = 60_000

const FEATURE = 'The result channel s3'
const loadClient = () => loadOptional('@aws-sdk/client-s3', FEATURE, () => import('@aws-sdk/client-s3'))

/** Objects in one bucket: `s3:BUCKET/PREFIX TASK_ID/NAME`. */
export function s3Channel(options: S3Options): Channel {
  const { bucket, prefix = '' } = options
  const name = 's3'
  let opened: Promise<S3Client> | undefined
  const client = (): Promise<S3Client> => {
    opened ??= openClient(options)
    return opened
  }

  const keyOf = (pointer: string, taskId: string | undefined): string => {
    const data = dataOf(pointer, name)
    const home = taskId === undefined ? prefix : `${prefix}${checkTaskId(taskId)}/`
    if (!data.startsWith(`${bucket}/${home}`)) throw notFound(pointer)
    return data.slice(bucket.length + 1)
  }

  return {
    name,
    async put(taskId, payload, about) {
      const key = `${prefix}${checkTaskId(taskId)}/${randomUUID()}`
      const { content, media_type } = sourceOf(payload, about)
      const { checksum, size } = await upload(await client(), bucket, key, content, media_type)
      return { pointer: `${name}:${bucket}/${key}`, channel: name, checksum, size, media_type }
    },
    async get(pointer, { taskId } = {}) {
      const key = keyOf(pointer, taskId)
      const { HeadObjectCommand } = await loadClient()
      const s3 = await client()
      const head = new HeadObjectCommand({ Bucket: bucket, Key: key })
      const { ContentLength: size = 0 } = await s3.send(head).catch(refuse(pointer))
      const read = ({ offset, length }: Part = WHOLE) => {
        const end = Math.min(size, offset + length)
        return offset < end ? download(s3, bucket, key, offset, end, pointer) : nothing()
      }
      return { size, read }
    },
    async ack(pointer, { taskId } = {}) {
      const key = keyOf(pointer, taskId)
      const { DeleteObjectCommand } = await loadClient()
      const s3 = await client()
      await orUnavailable(name, s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })))
    },
    capabilities: capable({ max_size_bytes: PART_BYTES * 10_000, supports_streaming: true }),
  }
}

/** Objects of a bucket by their keys. */
export interface Objects {
  upload(key: string, content: AsyncIterable<Uint8Array>, mediaType: string): Promise<unknown>
  /** Undefined if there is no such object. */
  download(key: string): Promise<AsyncIterable<Uint8Array> | undefined>
  remove(key: string): Promise<void>
}

export function openObjects(options: S3Options): Objects {
  const { bucket } = options
  let opened: Promise<S3Client> | undefined
  const client = (): Promise<S3Client> => {
    opened ??= openClient(options)
    return opened
  }
  return {
    upload: async (key, content, mediaType) => upload(await client(), bucket, key, content, mediaType),
    async download(key) {
      const { HeadObjectCommand } = await loadClient()
      const s3 = await client()
      const head = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key })).catch(orAbsent)
      const size = head?.ContentLength
      return size === undefined ? undefined : download(s3, bucket, key, 0, size, key)
    },
    async remove(key) {
      const { DeleteObjectCommand } = await loadClient()
      const s3 = await client()
      await orUnavailable('s3', s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })))
    },
  }
}

async function openClient({
  endpoint,
  region,
  pathStyle = false,
  credentials,
}: S3Options): Promise<S3Client> {
  const { S3Client } = await loadClient()
  // Other servers have no regions, but a signature must contain one.
  const where = region ?? (endpoint === undefined || process.env.AWS_REGION ? undefined : 'us-east-1')
  return new S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(where !== undefined && { region: where }),
    ...(credentials !== undefined && { credentials }),
    forcePathStyle: pathStyle,
    // Not every server supports Amazon's checksums, and the channel verifies the content itself.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
  })
}

/** Small content is uploaded in one request, other content in parts. A failure removes the uploaded parts. */
async function upload(
  client: S3Client,
  bucket: string,
  key: string,
  content: AsyncIterable<Uint8Array>,
  mediaType: string,
): Promise<{ checksum: string; size: number }> {
  const { Upload } = await loadOptional('@aws-sdk/lib-storage', FEATURE, () => import('@aws-sdk/lib-storage'))
  const meter = new Meter(PART_BYTES * 10_000)
  const transfer = new Upload({
    client,
    params: {
      Bucket: bucket,
      Key: key,
      Body: Readable.from(meter.measure(content), { objectMode: false }),
      ContentType: mediaType,
    },
    partSize: PART_BYTES,
    queueSize: CONCURRENT_PARTS,
  })
  try {
    await transfer.done()
  } catch (error) {
    throw meter.sourceError ?? unavailable('s3', error)
  }
  return meter.result()
}

/** Requests the object when the first chunk is read. */
async function* download(
  client: S3Client,
  bucket: string,
  key: string,
  offset: number,
  end: number,
  pointer: string,
): AsyncGenerator<Uint8Array> {
  const { GetObjectCommand } = await loadClient()
  const range = `bytes=${offset}-${end - 1}`
  const get = new GetObjectCommand({ Bucket: bucket, Key: key, Range: range })
  const { Body: body } = await client.send(get).catch(refuse(pointer))
  if (!(body instanceof Readable)) throw unavailable('s3', new Error('the response has no body'))
  try {
    for await (const chunk of body) yield chunk
  } catch (error) {
    throw unavailable('s3', error)
  } finally {
    body.destroy()
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function refuse(pointer: string): (error: unknown) => never {
  return (error) => {
    throw isAbsence(error) ? notFound(pointer) : unavailable('s3', error)
  }
}

function orAbsent(error: unknown): undefined {
  if (!isAbsence(error)) throw unavailable('s3', error)
}

function isAbsence(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NotFound' || error.name === 'NoSuchKey')
}
