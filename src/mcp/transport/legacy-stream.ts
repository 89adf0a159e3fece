import type { ServerResponse } from 'node:http'
import type { ServerEventBus, Tool } from '@modelcontextprotocol/server'
import { Fault } from '../../core/errors.ts'
import type { ServerDefinition } from '../server.ts'
import type { Call, ListKind } from '../tools/tool.ts'
import { beginEvents, eventOf } from './wire.ts'

/** The maximum number of open streams, in total and per caller. */
const MAX_STREAMS = 1_024
const MAX_OF_ONE = 64

/** The unread bytes after which a client is disconnected. */
const MAX_UNREAD_BYTES = 64 * 1024

const changed = (kind: ListKind) => eventOf({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` })

/** The event streams that notify legacy clients of changed lists. */
export class LegacyStreams {
  readonly #definition: ServerDefinition
  readonly #bus: ServerEventBus
  readonly #open = new Map<string, number>()
  #count = 0

  constructor(definition: ServerDefinition, bus: ServerEventBus) {
    this.#definition = definition
    this.#bus = bus
  }

  /** Resolves when the client has disconnected or the call has ended. */
  async serve(response: ServerResponse, call: Call): Promise<void> {
    const { credential } = call
    const who =
      credential.kind === 'bound' ? `${credential.tenant} ${credential.principal.id}` : credential.tenant
    const before = this.#open.get(who) ?? 0
    const limit = credential.kind === 'bound' ? MAX_OF_ONE : MAX_STREAMS
    if (this.#count >= MAX_STREAMS || before >= limit) {
      throw new Fault('QUOTA_EXCEEDED', {}, 'Too many streams are open. Close some, or retry later.')
    }
    this.#open.set(who, before + 1)
    this.#count++
    try {
      await this.#stream(response, call)
    } finally {
      this.#count--
      const left = (this.#open.get(who) ?? 1) - 1
      if (left === 0) this.#open.delete(who)
      else this.#open.set(who, left)
    }
  }

  async #stream(response: ServerResponse, call: Call): Promise<void> {
    const { signal } = call
    let listed = await this.#tools(call)
    // One read at a time, in the order of the changes.
    let looking: Promise<void> = Promise.resolve()
    const look = async () => {
      const tools = await this.#tools(call).catch(() => listed)
      // The change may concern another tenant.
      if (tools === listed) return
      listed = tools
      write(response, changed('tools'))
    }
    const stop = this.#bus.subscribe((event) => {
      if (event.kind === 'tools_list_changed') looking = looking.then(look)
      else if (event.kind === 'prompts_list_changed') write(response, changed('prompts'))
      else if (event.kind === 'resources_list_changed') write(response, changed('resources'))
    })
    const keepAlive = beginEvents(response, (text) => write(response, text))
    response.write(': connected\n\n')
    try {
      await new Promise<void>((resolve) => {
        response.once('close', resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
        if (signal.aborted || response.destroyed) resolve()
      })
    } finally {
      clearInterval(keepAlive)
      stop()
      response.end()
    }
  }

  #tools(call: Call): Promise<readonly Tool[]> {
    return this.#definition.tools.list(call, 'legacy')
  }
}

function write(response: ServerResponse, text: string): void {
  if (response.destroyed || response.writableEnded) return
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
  else response.write(text)
}
