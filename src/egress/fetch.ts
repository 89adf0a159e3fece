import { lookup } from 'node:dns/promises'
import type { Readable } from 'node:stream'
import { orAborted } from '../util/abort.ts'
import { type Collected, collect, decoded, drain, encodingOf, limited } from './body.ts'
import { type Clock, startClock } from './clock.ts'
import type { Route } from './connect.ts'
import { EgressError } from './error.ts'
import { exchange, type Received } from './exchange.ts'
import { firstHop, type Headers, type Hop, type Method, nextHop, type RequestBody } from './hop.ts'
import { Policy, type Target } from './policy.ts'
import { DEFAULT_EGRESS, type EgressSettings } from './settings.ts'

export interface GuardedRequest {
  readonly method?: Method
  readonly headers?: Headers
  readonly body?: RequestBody
  /** Overrides of DEFAULT_EGRESS. */
  readonly settings?: Partial<EgressSettings>
  readonly signal?: AbortSignal
  /** Resolves host names; the resolver of the operating system by default. */
  readonly resolve?: Resolve
}

export interface GuardedResponse {
  /** The URL that responded, after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  /** The decoded body, to be read once. Reading fails with an EgressError when the body is too large or too slow. */
  readonly body: AsyncIterable<Uint8Array>
  /** The complete body; an EgressError if it is too large. */
  bytes(): Promise<Buffer>
  /** The body up to `max_bytes`. */
  upToLimit(): Promise<Collected>
  /** Releases the connection. Needed only if the body is not read. */
  discard(): void
}

/**
 * Every request to an address that a caller has named goes through here. For each hop the host is resolved, all of its
 * addresses are checked, and the request is sent to one of these addresses; proxies of the environment are not used.
 */
export async function guardedFetch(url: string, request: GuardedRequest = {}): Promise<GuardedResponse> {
  const settings = { ...DEFAULT_EGRESS, ...request.settings }
  const policy = new Policy(settings)
  const clock = startClock(settings.total_timeout_ms, 'the request', request.signal)
  const resolve = request.resolve ?? systemResolve
  let received: Received | undefined
  try {
    let hop = firstHop(url, request.method, request.headers, request.body)
    for (let followed = 0; ; followed++) {
      received = await send(hop, policy, resolve, clock.signal)
      const { status, headers } = received
      const next = settings.max_redirects > 0 ? nextHop(hop, status, headers.location) : undefined
      if (next === undefined) return responseOf(received, hop, settings, clock)
      if (followed === settings.max_redirects) {
        throw new EgressError('TOO_MANY_REDIRECTS', `${url} redirects more than ${followed} times`)
      }
      drain(received.body)
      hop = next
    }
  } catch (error) {
    received?.body.destroy()
    clock.end()
    throw error
  }
}

async function send(hop: Hop, policy: Policy, resolve: Resolve, signal: AbortSignal): Promise<Received> {
  signal.throwIfAborted()
  const checked = policy.checkUrl(hop.url)
  if (!checked.allowed) throw new EgressError('REFUSED', checked.reason)
  const route = await routeTo(checked.value, policy, resolve, signal)
  try {
    return await exchange(checked.value.url, hop, route, signal)
  } catch (error) {
    throw translated(error, signal)
  }
}

/** Resolves the host and checks its addresses, for each request: an open connection is used only if its address still passes. */
async function routeTo(
  target: Target,
  policy: Policy,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<Route> {
  const { connect_timeout_ms: timeoutMs, ca } = policy.settings
  const clock = startClock(timeoutMs, 'connecting', signal)
  try {
    const found = target.isAddress ? [target.host] : await orAborted(resolve(target.host), clock.signal)
    const checked = policy.checkAddresses(target, found)
    if (!checked.allowed) throw new EgressError('REFUSED', checked.reason)
    return { addresses: checked.value, ca, timeoutMs }
  } catch (error) {
    if (error instanceof EgressError) error.isUnsent = true
    throw error
  } finally {
    clock.end()
  }
}

function responseOf(
  { status, headers: received, body: raw }: Received,
  { url, method }: Hop,
  { max_bytes, content_types }: EgressSettings,
  clock: Clock,
): GuardedResponse {
  const encoding = encodingOf(method, status, received['content-encoding'])
  const { 'content-encoding': _encoding, 'content-length': length, ...decodedHeaders } = received
  if (content_types !== undefined) checkContentType(received['content-type'], content_types)
  const body = read(raw, encoding, max_bytes, clock)
  return {
    url,
    status,
    headers: encoding === undefined ? received : decodedHeaders,
    body,
    async bytes() {
      const { bytes, truncated } = await collect(body)
      if (truncated) throw new EgressError('TOO_LARGE', `the body has more than ${max_bytes} bytes`)
      return bytes
    },
    upToLimit: () => collect(body),
    discard() {
      // A body of unknown length may be an endless stream.
      if (length === undefined) raw.destroy()
      else drain(raw)
      clock.end()
    },
  }
}

function checkContentType(header: string | undefined, allowed: readonly string[]): void {
  const [type = ''] = (header ?? '').toLowerCase().split(';')
  const isAllowed = allowed.some((pattern) =>
    pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type.trim() === pattern,
  )
  if (!isAllowed) throw new EgressError('BAD_RESPONSE', `the content type is ${type || 'not given'}`)
}

async function* read(
  body: Readable,
  encoding: string | undefined,
  maxBytes: number,
  { signal, end }: Clock,
): AsyncGenerator<Uint8Array> {
  try {
    yield* limited(decoded(body, encoding), maxBytes)
  } catch (error) {
    throw translated(error, signal)
  } finally {
    body.destroy()
    end()
  }
}

/** Errors of the HTTP parser, of zlib and of Brotli: the server responded, but the response is not valid. */
const UNREADABLE = /^(HPE_|Z_|ERR__|ERR_BROTLI|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/
const NOT_HTTP = new Set(['bad upgrade', 'bad response'])

/** The reason of the caller's abort if there was one, or an EgressError. */
function translated(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof EgressError) return error
  if (signal.aborted) return signal.reason
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isUnreadable = name === 'HTTPParserError' || UNREADABLE.test(code) || NOT_HTTP.has(message)
  return new EgressError(isUnreadable ? 'BAD_RESPONSE' : 'UNREACHABLE', `${message} (${code})`)
}

/** Resolves a host name to all its addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** The resolver of the operating system, including /etc/hosts. */
const systemResolve: Resolve = async (host) => {
  try {
    const found = await lookup(host, { all: true, order: 'verbatim' })
    return found.map(({ address }) => address)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // The same error as for a host that is not allowed, or callers could enumerate internal names.
    const outcome = code === 'ENOTFOUND' ? 'REFUSED' : 'UNREACHABLE'
    throw new EgressError(outcome, `${host} cannot be resolved (${code})`)
  }
}
