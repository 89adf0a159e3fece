import { randomUUID } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import { EgressError } from '../egress/error.ts'
import { type GuardedRequest, type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'
import { type Channel, capable } from './channel.ts'
import { Meter, slice, sourceOf } from './payload.ts'
import { channelOf, checkTaskId, dataOf, notFound, unavailable } from './pointer.ts'

export interface HttpOptions {
  /** Results are sent with PUT to a new URL below this one. Without it the channel is read-only. */
  readonly putUrl?: string | undefined
  /** Sent to `putUrl` only, for example a key. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether URLs outside of `putUrl` can be read; true by default. */
  readonly anywhere?: boolean | undefined
  /** The maximum size of a fetched result. */
  readonly maxBytes?: number | undefined
  /** Changes to the default egress limits. */
  readonly egress?: Partial<EgressSettings> | undefined
}

const MAX_BYTES = 1024 ** 3
const TIMEOUT_MS = 10 * 60_000

/** Results behind URLs: `http:URL`, or the URL itself. Every request goes through the egress guard. */
export function httpChannel(options: HttpOptions = {}): Channel {
  const name = 'http'
  const base = options.putUrl === undefined ? undefined : baseOf(options.putUrl)
  const limits: Partial<EgressSettings> = {
    max_bytes: options.maxBytes ?? MAX_BYTES,
    total_timeout_ms: TIMEOUT_MS,
    ...options.egress,
  }

  const urlOf = (pointer: string, taskId: string | undefined): string => {
    const url =
      channelOf(pointer) === name && !pointer.startsWith('http://') ? dataOf(pointer, name) : pointer
    if (!URL.canParse(url)) throw notFound(pointer)
    const { href } = new URL(url)
    if (base === undefined || !href.startsWith(base)) {
      if (!(options.anywhere ?? true)) throw notFound(pointer)
      return href
    }
    // Exactly the form that `put` writes, because servers differ in how they interpret escapes and dots.
    if (url !== href || !isOwnUrl(base, href, taskId)) throw notFound(pointer)
    return href
  }

  /** The URL that the operator configured may be private, and only it gets the headers. */
  const request = (href: string, more: GuardedRequest = {}): Promise<GuardedResponse> => {
    const isOurs = base !== undefined && isOwnUrl(base, href, undefined)
    if (!isOurs) return guardedFetch(href, { ...more, settings: limits })
    const headers = { ...options.headers, ...more.headers }
    return guardedFetch(href, { ...more, headers, settings: { ...limits, ...allowOnlyOrigin(base, limits) } })
  }

  return {
    name,
    async put(taskId, payload, about) {
      if (base === undefined) throw new Fault('CHANNEL_NOT_CONFIGURED', { channel: name })
      const url = `${base}${checkTaskId(taskId)}/${randomUUID()}`
      const { content, media_type } = sourceOf(payload, about)
      const meter = new Meter()
      try {
        const headers = { 'content-type': media_type }
        const response = await request(url, { method: 'PUT', headers, body: meter.measure(content) })
        response.discard()
        checkStatus(response, url)
      } catch (error) {
        throw meter.sourceError ?? refusal(error, url)
      }
      return { pointer: `${name}:${url}`, channel: name, ...meter.result(), media_type }
    },
    async get(pointer, { taskId } = {}) {
      const url = urlOf(pointer, taskId)
      // No range requests, because servers that compress interpret ranges differently.
      const read = async function* () {
        try {
          const response = await request(url)
          try {
            checkStatus(response, pointer)
            yield* response.body
          } finally {
            response.discard()
          }
        } catch (error) {
          throw refusal(error, pointer)
        }
      }
      return { size: undefined, read: (part) => slice(read(), part) }
    },
    async ack(pointer, { taskId } = {}) {
      const url = urlOf(pointer, taskId)
      if (base === undefined || !isOwnUrl(base, url, taskId)) return
      try {
        const response = await request(url, { method: 'DELETE' })
        response.discard()
        if (response.status !== 404 && response.status !== 410) checkStatus(response, pointer)
      } catch (error) {
        throw refusal(error, pointer)
      }
    },
    capabilities: capable({
      max_size_bytes: base === undefined ? 0 : null,
      supports_streaming: true,
      human_readable: true,
    }),
  }
}

/** The URL with exactly one slash at its end, so that every URL below it starts with it. */
function baseOf(putUrl: string): string {
  const { origin, pathname } = new URL(putUrl)
  return `${origin}${pathname.replace(/\/*$/, '/')}`
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const BELOW_BASE = new RegExp(`^([A-Za-z0-9][A-Za-z0-9_-]*)/${UUID}$`)

/** Whether a URL has the form that `put` writes: BASE/TASK_ID/UUID, for the given task. */
function isOwnUrl(base: string, href: string, taskId: string | undefined): boolean {
  const found = href.startsWith(base) ? BELOW_BASE.exec(href.slice(base.length)) : null
  return found !== null && (taskId === undefined || found[1] === checkTaskId(taskId))
}

function checkStatus({ status }: GuardedResponse, pointer: string): void {
  if (status >= 200 && status < 300) return
  throw status === 404 || status === 410
    ? notFound(pointer)
    : unavailable('http', new Error(`the server responded with status ${status}`))
}

function refusal(error: unknown, pointer: string): unknown {
  if (!(error instanceof EgressError)) return error
  if (error.code === 'TOO_LARGE') return new Fault('PAYLOAD_TOO_LARGE', { pointer })
  if (error.retryable) return unavailable('http', error)
  return notFound(pointer)
}
