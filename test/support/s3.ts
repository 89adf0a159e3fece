import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { bodyOf } from './s3-body.ts'
import { S3Bucket, type S3Object } from './s3-bucket.ts'
import { S3Error } from './s3-error.ts'
import { checkSignature, type S3Credentials } from './s3-signature.ts'

export const S3_KEYS: S3Credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-test-1',
}

export interface S3Server {
  readonly endpoint: string
  readonly bucket: S3Bucket
  /** Every request: method, path and query. */
  readonly requests: string[]
  /** How the bodies of requests were signed. */
  readonly forms: Set<string>
  /** Returns an error with which to answer a request instead of processing it. */
  fault: ((line: string) => S3Error | undefined) | undefined
  close(): Promise<void>
}

/** The part of S3 that a client of one bucket needs, as strict as the real one, with path-style URLs over plain HTTP. */
export async function startS3(bucketName = 'results', keys = S3_KEYS): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-s3-'))
  const bucket = new S3Bucket(folder)
  const requests: string[] = []
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`
    requests.push(line)
    answer(request, response)
      .catch((error: unknown) => refuse(request, response, error))
      .catch(() => response.destroy())
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    checkSignature(request, keys)
    self.forms.add(formOf(request))
    const fault = self.fault?.(`${request.method} ${request.url}`)
    if (fault !== undefined) throw fault
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    const [, name, ...rest] = pathname.split('/')
    if (name !== bucketName) throw new S3Error(404, 'NoSuchBucket')
    const key = decodeURIComponent(rest.join('/'))
    if (key === '') throw new S3Error(501, 'NotImplemented', 'only objects')
    await operate(bucket, key, searchParams, request, response)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const self: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    requests,
    forms: new Set(),
    fault: undefined,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return self
}

async function operate(
  bucket: S3Bucket,
  key: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const contentType = request.headers['content-type'] ?? 'binary/octet-stream'
  const uploadId = query.get('uploadId')
  switch (request.method) {
    case 'PUT': {
      if (uploadId === null) {
        const { etag } = await bucket.put(key, bodyOf(request), contentType)
        return send(response, 200, '', { etag })
      }
      const etag = await bucket.putPart(uploadId, Number(query.get('partNumber')), bodyOf(request))
      return send(response, 200, '', { etag })
    }
    case 'POST': {
      const body = await textOf(request)
      if (query.has('uploads')) {
        const id = bucket.begin(key, contentType)
        return send(response, 200, xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`))
      }
      const { etag } = bucket.complete(uploadId ?? '', partsIn(body))
      const result = `<Key>${escaped(key)}</Key><ETag>${escaped(etag)}</ETag>`
      return send(response, 200, xml('CompleteMultipartUploadResult', result))
    }
    case 'DELETE':
      if (uploadId !== null) await bucket.abort(uploadId)
      else await bucket.remove(key)
      return send(response, 204, '')
    case 'GET':
    case 'HEAD':
      return sendObject(bucket, bucket.get(key), request, response)
    default:
      throw new S3Error(405, 'MethodNotAllowed')
  }
}

async function sendObject(
  bucket: S3Bucket,
  object: S3Object,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { size } = object
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
  const start = Number(first ?? 0)
  const end = last ? Math.min(Number(last) + 1, size) : size
  if (first !== undefined && start >= size) throw new S3Error(416, 'InvalidRange')
  response.writeHead(first === undefined ? 200 : 206, {
    etag: object.etag,
    'accept-ranges': 'bytes',
    'content-type': object.contentType,
    'content-length': end - start,
    ...(first !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  })
  if (method === 'HEAD') response.end()
  else await pipeline(bucket.read(object, start, end), response)
}

function formOf({ headers }: IncomingMessage): string {
  const form = String(headers['x-amz-content-sha256'])
  return /^[0-9a-f]{64}$/.test(form) ? 'hash' : form
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of bodyOf(request)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function partsIn(body: string) {
  return [...body.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
    number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
    etag: (/<ETag>(.*?)<\/ETag>/.exec(part)?.[1] ?? '').replaceAll('&quot;', '"'),
  }))
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (!(error instanceof S3Error) || response.headersSent) throw error
  const body = `<Code>${error.code}</Code><Message>${escaped(error.message)}</Message>`
  request.resume()
  send(response, error.status, request.method === 'HEAD' ? '' : xml('Error', body))
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...(body !== '' && { 'content-type': 'application/xml' }), ...headers })
  response.end(body)
}

function xml(name: string, content: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${content}</${name}>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
