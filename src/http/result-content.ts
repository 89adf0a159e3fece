import type { IncomingMessage } from 'node:http'
import type { Called } from '../auth/caller.ts'
import { Fault, invalid } from '../core/errors.ts'
import type { OpenResult } from '../features/results/open-result.ts'
import { resultInput } from '../features/results/open-result.ts'
import { uploadResultInput } from '../features/results/upload-result.ts'
import { admit, type Context, identify } from './context.ts'
import type { Exchange } from './exchange.ts'
import { collectFields, type FieldTypes } from './fields.ts'
import type { Params, Route } from './router.ts'

const PATH = '/v1/tasks/{task_id}/result'

const DOWNLOAD: Called = { actor: 'anyone', input: resultInput }
const DOWNLOAD_FIELDS: FieldTypes = new Map([['artifact', 'number']])
const UPLOAD: Called = { actor: 'worker', input: uploadResultInput }
const NO_FIELDS: FieldTypes = new Map()

/** A worker that sends nothing of its result for so long has gone away. */
const STALLED_MS = 60_000

/** Results as plain bytes, of any size, in both directions. */
export function resultRoutes(context: Context): Route[] {
  return [
    { method: 'GET', path: PATH, handle: (exchange, params) => download(context, exchange, params) },
    { method: 'PUT', path: PATH, handle: (exchange, params) => upload(context, exchange, params) },
  ]
}

async function download(context: Context, exchange: Exchange, params: Params): Promise<void> {
  const credential = admit(context, exchange)
  const fields = collectFields(DOWNLOAD_FIELDS, params, exchange.query, {})
  const { caller, input } = identify(exchange, credential, DOWNLOAD, fields)
  const opened = await context.gate.openResult(caller, input)
  const { size, artifact, read } = opened
  const type = mediaTypeOf(artifact.media_type)
  const part = rangeOf(exchange.request.headers.range, size)
  const headers = { ...headersOf(opened), ...(part && { 'Content-Range': part.range }) }
  const content = part === undefined ? read() : read(part)
  await exchange.stream(part ? 206 : 200, type, part?.length ?? size, { content, headers })
}

/** What a worker has stored must not act as a page of this server. */
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

/** One range, for downloads that are taken up again. Anything else is answered with the whole. */
function rangeOf(header: string | undefined, size: number | undefined) {
  const [, first, last] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || size === undefined) return undefined
  const offset = Number(first)
  const end = last ? Math.min(Number(last) + 1, size) : size
  // The whole instead would be appended by whoever believes to have most of it.
  if (offset >= end) throw invalid('range', `begins after the end: there are ${size} bytes`)
  return { offset, length: end - offset, range: `bytes ${offset}-${end - 1}/${size}` }
}

async function upload(context: Context, exchange: Exchange, params: Params): Promise<void> {
  const credential = admit(context, exchange)
  const { request } = exchange
  const { headers } = request
  const fields = collectFields(NO_FIELDS, params, exchange.query, {})
  const { caller, input } = identify(exchange, credential, UPLOAD, fields)
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

/** The request stays open when it is not read to its end: its sender is still to be answered. */
async function* contentOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch {
    throw invalid('', 'ends before its end')
  }
}
