import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import { SESSION_ENDS, type SessionEnd } from '../../features/sessions/sessions.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import type { Entries } from '../../store/entries.ts'

const KIND = 'session_end'
/** How often a server checks for orders, and how long the server that placed an order waits. */
const LOOK_MS = 500
const ANSWER_MS = 5_000
const AGAIN_MS = 50
/** When an order is deleted: the server that placed it has stopped waiting. */
const FORGET_MS = 60_000
const MAX_ORDERS = 500

const order = z.object({
  at: z.number(),
  /** The server that has the session. */
  instance: z.string(),
  mode: z.enum(SESSION_ENDS),
  /** The number of canceled calls; null until the order is executed. */
  canceled: z.int().nullable(),
})
type Order = z.output<typeof order>

export interface SessionEndsDeps {
  readonly entries: Entries
  readonly tenant: number
  /** Whether other servers use the same database. */
  readonly shared: boolean
  readonly instance: string
  /** Ends a session of this server, if it exists. Resolves with the number of canceled calls. */
  end(sessionId: string, mode: SessionEnd): Promise<number>
  report(error: unknown): void
}

/** Orders to end sessions of other servers. The server that has the session executes the order. */
export class SessionEnds {
  readonly #deps: SessionEndsDeps
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(deps: SessionEndsDeps) {
    this.#deps = deps
  }

  start(): void {
    if (this.#deps.shared) this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Resolves with the number of calls that the other server canceled; undefined if it does not respond. */
  async ask(sessionId: string, instance: string, mode: SessionEnd): Promise<number | undefined> {
    const { entries, tenant } = this.#deps
    await this.#put(sessionId, { at: Date.now(), instance, mode, canceled: null })
    const until = performance.now() + ANSWER_MS
    try {
      while (performance.now() < until) {
        await pause(AGAIN_MS)
        const entry = await entries.get(tenant, KIND, sessionId)
        // Another server placed the same order and has received the response.
        if (entry === undefined) return 0
        const { canceled } = order.parse(JSON.parse(entry.value))
        if (canceled !== null) return canceled
      }
      return undefined
    } finally {
      await entries.remove(tenant, KIND, sessionId)
    }
  }

  #look(): void {
    this.#looking ??= this.#carryOut()
      .catch(this.#deps.report)
      .finally(() => {
        this.#looking = undefined
      })
  }

  async #carryOut(): Promise<void> {
    const { entries, tenant, instance, end } = this.#deps
    for (const { name, value } of await entries.list(tenant, KIND, '', MAX_ORDERS)) {
      const asked = order.parse(JSON.parse(value))
      if (Date.now() - asked.at > FORGET_MS) await entries.remove(tenant, KIND, name)
      else if (asked.instance === instance && asked.canceled === null) {
        await this.#put(name, { ...asked, canceled: await end(name, asked.mode) })
      }
    }
  }

  async #put(sessionId: string, value: Order): Promise<void> {
    const { entries, tenant } = this.#deps
    await entries.put({ tenant, kind: KIND, name: sessionId, value: JSON.stringify(value), due_at: null })
  }
}

const ENDED = 'The session of the call has ended.'

/** Cancels the queued and running calls of a session. Calls that wait for a person stay. Resolves with their number. */
export async function cancelCalls(gate: Gate, tenant: string, session_id: string): Promise<number> {
  const system: Caller = { ...gate.toolCalls.caller(tenant), role: 'system' }
  let count = 0
  for (const status of ['queued', 'leased', 'running'] as const) {
    for (let more = true; more; ) {
      const canceled = await gate.cancelTasks(system, { session_id, type: TOOL_CALL, status, reason: ENDED })
      count += canceled.count
      more = canceled.more && canceled.count > 0
    }
  }
  return count
}
