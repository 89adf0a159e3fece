/** One call that reached a scripted fetch. */
export interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
}

export type Reply = (sent: Sent) => Response | Promise<Response>

/** A fetch that returns one reply after the other and records its calls. */
export function scripted(...replies: Reply[]) {
  const sent: Sent[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const call = sentOf(input, init)
    sent.push(call)
    const reply = replies[sent.length - 1]
    if (reply === undefined) throw new Error(`unexpected call ${sent.length}: ${call.url}`)
    call.signal.throwIfAborted()
    return reply(call)
  }
  return { fetch, sent }
}

export function sentOf(input: string | URL | Request, init: RequestInit = {}): Sent {
  const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : {}
  if (typeof body !== 'object' || body === null) throw new Error('the body is not an object')
  if (!init.signal) throw new Error('a call without a signal cannot be stopped')
  return {
    url: String(input),
    method: init.method ?? 'GET',
    headers: new Headers(init.headers),
    body: Object.fromEntries(Object.entries(body)),
    signal: init.signal,
  }
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  () =>
    new Response(JSON.stringify(body), {
      status,
      headers: { 'content-type': 'application/json', ...headers },
    })

export const text =
  (body: string, status: number): Reply =>
  () =>
    new Response(body, { status, headers: { 'content-type': 'text/html' } })

/** The error of fetch for a broken connection. */
export const broken =
  (code: string): Reply =>
  () => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
  }

/** Never responds, but rejects when its signal is aborted. */
export const silent: Reply = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })

/** An event stream that stays open on request. */
export const stream =
  (chunks: readonly string[], { stays = false } = {}): Reply =>
  ({ signal }) => {
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(encoder.encode(chunk))
        if (!stays) controller.close()
        signal.addEventListener('abort', () => {
          if (stays) controller.error(signal.reason)
        })
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

export const OVERLOADED = {
  error: 'overloaded',
  code: 'OVERLOADED',
  message: 'The server has more work waiting than it can take.',
  hint: 'Send the request again.',
  retryable: true,
  request_id: 'r-1',
}
