import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { Called } from '../auth/caller.ts'
import { Fault, invalid } from '../core/errors.ts'
import type { JsonSchema } from '../features/define-operation.ts'
import { type OpenResult, resultInput } from '../features/results/open-result.ts'
import { uploadResultInput } from '../features/results/upload-result.ts'
import { admit, type Context, identify } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import type { Exchange } from './exchange.ts'
import { collectFields, type FieldTypes } from './fields.ts'
import type { Params } from './router.ts'

const PATH = '/v1/tasks/{task_id}/result'

const DOWNLOAD: Called = { actor: 'anyone', input: resultInput }
const DOWNLOAD_FIELDS: FieldTypes = new Map([['artifact', 'number']])
const UPLOAD: Called = { actor: 'worker', input: uploadResultInput }
const NO_FIELDS: FieldTypes = new Map()

/** A worker that sends nothing for this long is disconnected. */
const STALLED_MS = 60_000

const text = z.string()
const binary: JsonSchema = { type: 'string', format: 'binary' }
const bytes = { mediaTypes: { 'application/octet-stream': binary } }

/** Upload and download of results of any size. */
export const resultEndpoints: readonly Endpoint[] = [
  {
    name: 'download_result',
    tag: 'tasks',
    title: 'Download a result',
    description:
      'The result of a task that has ended, of any size. ETag and Digest contain its checksum; a body that does not match it is aborted before its end. A single range can be requested.',
    method: 'GET',
    path: PATH,
    parameters: z.object({
      task_id: text,
      artifact: z.int().min(0).optional().describe('Index of the artifact among those with a pointer'),
      principal_kind: text.optional().describe('The kind of the caller under a shared key; agent by default'),
      principal_id: text.optional().describe('The caller under a shared key'),
    }),
    responses: {
      200: { description: 'The result, with the media type that its worker gave it', content: bytes },
      206: { description: 'The range', content: bytes },
    },
    errors: [400, 401, 403, 404, 500, 502, 503],
    handle: download,
  },
  {
    name: 'upload_result',
    tag: 'leases',
    title: 'Upload a result',
    description:
      'For workers without storage of their own: stores the body, of any size, under the lease that the worker holds. List the response in the artifacts of complete. Uploads that no task lists are removed after a day.',
    method: 'PUT',
    path: PATH,
    parameters: z.object({
      task_id: text,
      worker_id: text.describe('The worker that holds the task'),
      lease_id: text.optional().describe('The lease; by default the one that the worker holds'),
      channel: text.optional().describe('Overrides the channel of the task type or of the server'),
      checksum: text.optional().describe('SHA-256 of the body in hex, to have it verified'),
      worker_kind: text.optional().describe('The kind of the caller under a shared key; worker by default'),
    }),
    body: { mediaTypes: { '*/*': binary } },
    responses: {
      200: {
        description: 'Stored',
        content: z.object({
          pointer: text,
          channel: text,
          checksum: text.describe('SHA-256 in hex'),
          size: z.int(),
          media_type: text,
        }),
      },
    },
    errors: [400, 401, 403, 404, 409, 413, 415, 500, 503],
    handle: upload,
  },
]

async function download(context: Context, exchange: Exchange, params: Params): Promise<void> {
  const credential = await admit(context, exchange)
  const fields = collectFields(DOWNLOAD_FIELDS, params, exchange.query, {})
  const { caller, input } = identify(exchange, credential, DOWNLOAD, fields)
  await context.gate.rateLimits.count(caller, 'download_result')
  const opened = await context.gate.openResult(caller, input)
  const { size, artifact, read } = opened
  const type = mediaTypeOf(artifact.media_type)
  const part = rangeOf(exchange.request.headers.range, size)
  const headers = { ...headersOf(opened), ...(part && { 'Content-Range': part.range }) }
  const content = part === undefined ? read() : read(part)
  await exchange.stream(part ? 206 : 200, type, part?.length ?? size, { content, headers })
}

/** A stored result must not act as a page of this server. */
function headersOf({ artifact: { checksum }, size }: OpenResult) {
  return {
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ...(size !== undefined && { 'Accept-Ranges': 'bytes' }),
    ...(checksum !== null && digestsOf(checksum)),
  }
}

function digestsOf(checksum: string) {
  const base64 = Buffer.from(checksum, 'hex').toString('base64')
  return { ETag: `"${checksum}"`, Digest: `sha-256=${base64}`, 'Repr-Digest': `sha-256=:${base64}:` }
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: *; *[\w.-]+=(?:[\w.:+-]+|"[^"\\\r\n]*"))*$/

function mediaTypeOf(given: string | null): string {
  return given !== null && MEDIA_TYPE.test(given) ? given : 'application/octet-stream'
}

/** A single range, to resume a download. Other ranges are ignored, and the complete result is sent. */
function rangeOf(header: string | undefined, size: number | undefined) {
  const [, first, last] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || size === undefined) return undefined
  const offset = Number(first)
  const end = last ? Math.min(Number(last) + 1, size) : size
  // A client that resumes a download would append the complete result.
  if (offset >= end) throw invalid('range', `begins after the end of ${size} bytes`)
  return { offset, length: end - offset, range: `bytes ${offset}-${end - 1}/${size}` }
}

async function upload(context: Context, exchange: Exchange, params: Params): Promise<void> {
  const credential = await admit(context, exchange)
  const { request } = exchange
  const { headers } = request
  const fields = collectFields(NO_FIELDS, params, exchange.query, {})
  const { caller, input } = identify(exchange, credential, UPLOAD, fields)
  await context.gate.rateLimits.count(caller, 'upload_result')
  const media_type = headers['content-type']
  if (media_type !== undefined && !MEDIA_TYPE.test(media_type))
    throw invalid('content-type', 'is not a media type')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new Fault('UNSUPPORTED_MEDIA_TYPE', { content_encoding: headers['content-encoding'] })
  }
  const limit = context.gate.settings.result_max_bytes
  if (Number(headers['content-length'] ?? 0) > limit) {
    throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: limit })
  }
  request.setTimeout(STALLED_MS, () => request.destroy())
  const about = { ...input, ...(media_type !== undefined && { media_type }) }
  exchange.json(200, await context.gate.uploadResult(caller, about, contentOf(request)))
}

/** The request stays open if it is not read to its end, because its sender waits for the response. */
async function* contentOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch {
    throw invalid('', 'was truncated')
  }
}
