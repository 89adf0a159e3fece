import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Credential } from '../../auth/credential.ts'
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

/**
 * The streams that legacy clients open with GET: notifications of their session, or the rest of a response. There can
 * be thousands, so a stream holds neither its request nor a signal while it is open.
 */
export class SessionStreams {
  readonly #sessions: Sessions
  readonly #open = new Set<ServerResponse>()
  readonly #counts = new Map<string, number>()
  #isEnded = false

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  /** Resolves when the stream has been opened. */
  async serve(
    { headers }: IncomingMessage,
    response: ServerResponse,
    { credential, listing }: Pick<Call, 'credential' | 'listing'>,
    session: ClientSession | undefined,
  ): Promise<void> {
    this.#admit(response, credential)
    const last = headerOf(headers, 'last-event-id')
    const event = last === undefined ? undefined : (readEventId(last) ?? 'unknown')
    if (session === undefined) {
      const anonymous = this.#sessions.anonymous(credential)
      response.once('close', () => this.#sessions.left(anonymous))
      await anonymous.openStream(response, { last: event, primes: false, listing })
    } else if (typeof event === 'object' && event.requestId !== undefined) {
      resume(response, session, event)
    } else {
      // It may reconnect, so its idle time begins at the end of the stream.
      response.once('close', () => this.#sessions.used(session))
      await session.openStream(response, { last: event, primes: primes(headers), listing })
    }
    if (this.#isEnded) response.end()
  }

  /** Ends all streams, also those that are opened later. */
  end(): void {
    this.#isEnded = true
    for (const response of this.#open) response.end()
  }

  #admit(response: ServerResponse, credential: Credential): void {
    const scope = scopeOf(credential)
    const before = this.#counts.get(scope) ?? 0
    const limit = credential.kind === 'bound' ? MAX_OF_ONE : MAX_STREAMS
    if (this.#open.size >= MAX_STREAMS || before >= limit) {
      throw new Fault('QUOTA_EXCEEDED', {}, 'Too many streams are open. Close some, or retry later.')
    }
    this.#counts.set(scope, before + 1)
    this.#open.add(response)
    response.once('close', () => {
      this.#open.delete(response)
      const left = (this.#counts.get(scope) ?? 1) - 1
      if (left === 0) this.#counts.delete(scope)
      else this.#counts.set(scope, left)
    })
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
