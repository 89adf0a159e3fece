import { randomUUID } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import { EgressError } from '../egress/error.ts'
import { type GuardedRequest, type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../egress/settings.ts'
import type { Channel } from './channel.ts'
import { Meter } from './meter.ts'
import { slice, sourceOf } from './payload.ts'
import { channelOf, checkTaskId, dataOf, notFound } from './pointer.ts'
import { unavailable } from './unavailable.ts'

export interface HttpOptions {
  /** Results are sent with PUT to a new URL below this one. Without it nothing can be put. */
  readonly putUrl?: string | undefined
  /** Sent to `putUrl` only, as a key that it asks for. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether other URLs than those below `putUrl` are read; true if absent. */
  readonly anywhere?: boolean | undefined
  /** Of what is read from a URL. */
  readonly maxBytes?: number | undefined
  /** What differs from the usual limits on requests to the outside. */
  readonly egress?: Partial<EgressSettings> | undefined
}

const MAX_BYTES = 1024 ** 3
const TIMEOUT_MS = 10 * 60_000

/** Anything that has a URL: `http:URL`, or the URL itself. Every request goes through the egress guard. */
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
    // What `put` has written, letter for letter: servers differ in what they make of escapes and dots.
    if (url !== href || !isOwnUrl(base, href, taskId)) throw notFound(pointer)
    return href
  }

  /** The place that the operator named may be private, and gets the headers. Nobody else gets them. */
  const request = (href: string, more: GuardedRequest = {}): Promise<GuardedResponse> => {
    const isOurs = base !== undefined && isOwnUrl(base, href, undefined)
    if (!isOurs) return guardedFetch(href, { ...more, settings: limits })
    const headers = { ...options.headers, ...more.headers }
    return guardedFetch(href, { ...more, headers, settings: { ...limits, ...leaveFor(base, limits) } })
  }

  return {
    name,
    async put(taskId, payload, about) {
      if (base === undefined) throw new Fault('CHANNEL_NOT_CONFIGURED', { channel: name })
      const url = `${base}${checkTaskId(taskId)}/${randomUUID()}`
      const { content, media_type } = sourceOf(payload, about)
      const meter = new Meter()
      let broken: unknown
      const body = (async function* () {
        try {
          yield* meter.measure(content)
        } catch (error) {
          broken = error
          throw error
        }
      })()
      try {
        const sent = { method: 'PUT', headers: { 'content-type': media_type }, body } as const
        const response = await request(url, sent)
        response.discard()
        checkStatus(response, url)
      } catch (error) {
        throw broken ?? refusal(error, url)
      }
      return {
        pointer: `${name}:${url}`,
        channel: name,
        checksum: meter.checksum(),
        size: meter.size,
        media_type,
      }
    },
    async get(pointer, { taskId } = {}) {
      const url = urlOf(pointer, taskId)
      // From the start, whatever is asked for: servers that compress do not agree on what a range is.
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
    capabilities: () => ({
      max_size_bytes: base === undefined ? 0 : null,
      supports_streaming: true,
      supports_attachments: false,
      retention_days: null,
      human_readable: true,
    }),
  }
}

/** The URL with exactly one slash at its end, so that what starts with it is below it. */
function baseOf(putUrl: string): string {
  const { origin, pathname } = new URL(putUrl)
  return `${origin}${pathname.replace(/\/*$/, '/')}`
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const BELOW_BASE = new RegExp(`^([A-Za-z0-9][A-Za-z0-9_-]*)/${UUID}$`)

/** Whether a URL is one that `put` writes: BASE/TASK_ID/UUID, of the task if there is one. */
function isOwnUrl(base: string, href: string, taskId: string | undefined): boolean {
  const found = href.startsWith(base) ? BELOW_BASE.exec(href.slice(base.length)) : null
  return found !== null && (taskId === undefined || found[1] === checkTaskId(taskId))
}

function leaveFor(base: string, limits: Partial<EgressSettings>): Partial<EgressSettings> {
  const { protocol, hostname, port } = new URL(base)
  return {
    allow_http: protocol === 'http:',
    allowed_ports: [Number(port || (protocol === 'https:' ? 443 : 80))],
    allowed_private: [
      ...(limits.allowed_private ?? DEFAULT_EGRESS.allowed_private),
      hostname.replace(/^\[|\]$/g, ''),
    ],
    max_redirects: 0,
  }
}

function checkStatus({ status }: GuardedResponse, pointer: string): void {
  if (status >= 200 && status < 300) return
  throw status === 404 || status === 410
    ? notFound(pointer)
    : unavailable('http', new Error(`the server answered with status ${status}`))
}

function refusal(error: unknown, pointer: string): unknown {
  if (!(error instanceof EgressError)) return error
  if (error.code === 'TOO_LARGE') return new Fault('PAYLOAD_TOO_LARGE', { pointer })
  if (error.retryable) return unavailable('http', error)
  return notFound(pointer)
}
