import http, { type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Collected, collect, decoded, encodingOf, limited } from './body.ts'
import { type Clock, startClock } from './clock.ts'
import { connect } from './connect.ts'
import { EgressError } from './error.ts'
import { type Headers, responseHeaders } from './headers.ts'
import { firstHop, type Hop, type Method, nextHop, type RequestBody } from './hop.ts'
import { Policy, type Target } from './policy.ts'
import { type Resolve, systemResolve } from './resolve.ts'
import { DEFAULT_EGRESS, type EgressSettings } from './settings.ts'

export interface GuardedRequest {
  readonly method?: Method
  readonly headers?: Headers
  readonly body?: RequestBody
  /** What differs from DEFAULT_EGRESS. */
  readonly settings?: Partial<EgressSettings>
  readonly signal?: AbortSignal
  /** How addresses are found; as the machine does it if absent. */
  readonly resolve?: Resolve
}

export interface GuardedResponse {
  /** The URL that answered, after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  /** The decoded body, to be read once. Reading fails with an EgressError when it is too large or too slow. */
  readonly body: AsyncIterable<Uint8Array>
  /** The whole body; an EgressError if it is too large. */
  bytes(): Promise<Buffer>
  /** The body up to `max_bytes`. */
  upToLimit(): Promise<Collected>
  /** Closes the connection. Needed only by those who do not read the body. */
  discard(): void
}

/**
 * Every request to an address that somebody else has named goes through here. The host is resolved once, the address
 * is checked and then connected to, and so it is again with every redirect. Proxies of the environment are not used.
 */
export async function guardedFetch(url: string, request: GuardedRequest = {}): Promise<GuardedResponse> {
  const settings = { ...DEFAULT_EGRESS, ...request.settings }
  const policy = new Policy(settings)
  const clock = startClock(settings.total_timeout_ms, 'the request', request.signal)
  const resolve = request.resolve ?? systemResolve
  try {
    let hop = firstHop(url, request.method, request.headers, request.body)
    for (let followed = 0; ; followed++) {
      const response = await send(hop, policy, resolve, clock)
      const { statusCode = 0, headers } = response
      const next = settings.max_redirects > 0 ? nextHop(hop, statusCode, headers.location) : undefined
      if (next === undefined) return answer(response, hop, settings, clock)
      response.destroy()
      if (followed === settings.max_redirects) {
        throw new EgressError('TOO_MANY_REDIRECTS', `${url} leads on more than ${followed} times`)
      }
      hop = next
    }
  } catch (error) {
    clock.end()
    throw error
  }
}

async function send(hop: Hop, policy: Policy, resolve: Resolve, clock: Clock): Promise<IncomingMessage> {
  clock.signal.throwIfAborted()
  const checked = policy.checkUrl(hop.url)
  if (!checked.allowed) throw new EgressError('REFUSED', checked.reason)
  const socket = await connect(checked.value, policy, resolve, clock).catch((error: unknown) => {
    if (error instanceof EgressError) error.isUnsent = true
    throw error
  })
  try {
    return await exchange(socket, checked.value, hop, clock)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Sends the request on a socket of its own and waits for the head of the answer. */
async function exchange(
  socket: Socket,
  { url }: Target,
  { method, headers, body }: Hop,
  clock: Clock,
): Promise<IncomingMessage> {
  const isWhole = typeof body === 'string' || body instanceof Uint8Array
  const request = http.request({
    createConnection: () => socket,
    method,
    path: url.pathname + url.search,
    setHost: false,
    insecureHTTPParser: false,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'gzip, br',
      connection: 'close',
      ...(isWhole && { 'content-length': Buffer.byteLength(body) }),
    },
  })
  const onAbort = () => request.destroy()
  clock.signal.addEventListener('abort', onAbort, { once: true })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    // It stays on: a socket that breaks later is told to whoever reads the body.
    request.on('error', reject)
    request.once('upgrade', () => reject(new EgressError('BAD_RESPONSE', 'it switches protocols')))
  })
  try {
    if (body === undefined || isWhole) request.end(body)
    else await Promise.race([pipeline(Readable.from(body), request), answered])
    return await answered
  } catch (error) {
    request.destroy()
    throw translated(error, clock)
  }
}

function answer(
  response: IncomingMessage,
  hop: Hop,
  { max_bytes, content_types }: EgressSettings,
  clock: Clock,
): GuardedResponse {
  try {
    const encoding = encodingOf(response, hop.method)
    const headers = responseHeaders(response.headers, encoding !== undefined)
    if (content_types !== undefined) checkContentType(headers['content-type'], content_types)
    const body = read(response, encoding, max_bytes, clock)
    return {
      url: hop.url,
      status: response.statusCode ?? 0,
      headers,
      body,
      async bytes() {
        const { bytes, truncated } = await collect(body)
        if (truncated) throw new EgressError('TOO_LARGE', `the body has more than ${max_bytes} bytes`)
        return bytes
      },
      upToLimit: () => collect(body),
      discard() {
        response.destroy()
        clock.end()
      },
    }
  } catch (error) {
    response.destroy()
    throw error
  }
}

function checkContentType(header: string | undefined, allowed: readonly string[]): void {
  const [type = ''] = (header ?? '').toLowerCase().split(';')
  const fits = allowed.some((pattern) =>
    pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type.trim() === pattern,
  )
  if (!fits) throw new EgressError('BAD_RESPONSE', `the answer is ${type || 'of no type'}`)
}

async function* read(
  response: IncomingMessage,
  encoding: string | undefined,
  maxBytes: number,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  try {
    yield* limited(decoded(response, encoding), maxBytes)
  } catch (error) {
    throw translated(error, clock)
  } finally {
    response.destroy()
    clock.end()
  }
}

/** The caller's own reason if he has stopped it, else what it means to him. */
function translated(error: unknown, { signal }: Clock): unknown {
  if (error instanceof EgressError) return error
  if (signal.aborted) return signal.reason
  const reason = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // The parser of HTTP, zlib and Brotli, in this order.
  const isUnreadable = /^(HPE_|Z_|ERR__|ERR_BROTLI)/.test(code)
  return new EgressError(isUnreadable ? 'BAD_RESPONSE' : 'UNREACHABLE', `${reason} (${code})`)
}
