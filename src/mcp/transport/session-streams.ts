import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../core/errors.ts'
import type { Call } from '../tools/tool.ts'
import { primes } from './envelope.ts'
import { type EventId, readEventId } from './resumable-stream.ts'
import type { ClientSession } from './session.ts'
import { type Sessions, scopeOf } from './sessions.ts'
import { beginEvents, eventOf, headerOf, refusal, refusalBody } from './wire.ts'

/** The maximum number of open streams, in total and per bound principal. */
const MAX_STREAMS = 8_192
const MAX_OF_ONE = 256

/** The streams that legacy clients open with GET: notifications of their session, or the rest of a response. */
export class SessionStreams {
  readonly #sessions: Sessions
  readonly #open = new Map<string, number>()
  #count = 0

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  /** Resolves when the client has disconnected or the call has ended. */
  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    call: Call,
    session: ClientSession | undefined,
  ): Promise<void> {
    const release = this.#admit(call)
    const anonymous = session === undefined ? this.#sessions.anonymous(call.credential) : undefined
    try {
      const last = headerOf(request.headers, 'last-event-id')
      const event = last === undefined ? undefined : (readEventId(last) ?? 'unknown')
      const isPrimed = session !== undefined && primes(request.headers)
      if (session !== undefined && typeof event === 'object' && event.requestId !== undefined)
        resume(response, session, event)
      else await (session ?? anonymous)?.openStream(response, { last: event, primes: isPrimed })
      await closed(response, call.signal)
    } finally {
      if (anonymous !== undefined) this.#sessions.left(anonymous)
      response.end()
      release()
    }
  }

  #admit({ credential }: Call): () => void {
    const scope = scopeOf(credential)
    const before = this.#open.get(scope) ?? 0
    const limit = credential.kind === 'bound' ? MAX_OF_ONE : MAX_STREAMS
    if (this.#count >= MAX_STREAMS || before >= limit) {
      throw new Fault('QUOTA_EXCEEDED', {}, 'Too many streams are open. Close some, or retry later.')
    }
    this.#open.set(scope, before + 1)
    this.#count++
    return () => {
      this.#count--
      const left = (this.#open.get(scope) ?? 1) - 1
      if (left === 0) this.#open.delete(scope)
      else this.#open.set(scope, left)
    }
  }
}

/** Continues a response. If that is no longer possible, the request gets an error, so that the client need not wait. */
function resume(response: ServerResponse, session: ClientSession, last: EventId): void {
  const stream = session.resumable(last)
  if (stream !== undefined) {
    stream.connect(response, { primes: false, after: last.n })
    return
  }
  const lost = refusal(new Fault('MCP_RESPONSE_NOT_FOUND'))
  clearInterval(beginEvents(response, () => {}))
  response.end(eventOf(refusalBody(lost, last.requestId ?? null)))
}

function closed(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted || response.destroyed) resolve()
  })
}
