import { isObject } from '../../util/guards.ts'
import type { Call } from '../tools/tool.ts'
import { type RequestId, requestIdOf } from './wire.ts'

/** A call that can be canceled by a message of its own. */
export interface CancelableCall {
  readonly signal: AbortSignal
  /** To be called when the call is over. */
  end(): void
}

const CANCELED = 'notifications/cancelled'

/**
 * Calls of the revisions before 2026-07-28 that are being held. Their clients cancel one with another request, which names
 * it by its id; ids are only unique within a session, so a client without one cannot be told apart from others.
 */
export class OpenCalls {
  readonly #open = new Map<string, AbortController>()

  get size(): number {
    return this.#open.size
  }

  /** Undefined if the message is not a request of a session. */
  begin(message: unknown, call: Call): CancelableCall | undefined {
    const id = requestIdOf(message)
    const key = id === null ? undefined : keyOf(call, id)
    if (key === undefined) return undefined
    const controller = new AbortController()
    // An id that is used twice at a time stands for the later call.
    this.#open.set(key, controller)
    return {
      signal: controller.signal,
      end: () => {
        if (this.#open.get(key) === controller) this.#open.delete(key)
      },
    }
  }

  /** Cancels the call that the message says is canceled; other messages, and calls that are over, change nothing. */
  heard(message: unknown, call: Call): void {
    if (!isObject(message) || message.method !== CANCELED || !isObject(message.params)) return
    const { requestId, reason } = message.params
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return
    const key = keyOf(call, requestId)
    if (key !== undefined) this.#open.get(key)?.abort(reason)
  }
}

/** The same session is the same client only under the same credential. */
function keyOf({ credential, client }: Call, id: RequestId): string | undefined {
  if (client === undefined) return undefined
  const who = credential.kind === 'bound' ? credential.principal : null
  return JSON.stringify([credential.tenant, who, client.instance, id])
}
