import { setTimeout as pause } from 'node:timers/promises'
import type { CallToolResult, Client, Progress } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Fault } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { UpstreamRecord } from '../gate/upstreams-shape.ts'
import { Backoff } from './backoff.ts'
import type { Definition } from './definition.ts'
import type { Sdk } from './sdk.ts'
import type { CallSession } from './session-connections.ts'
import { cleanLine } from './untrusted-text.ts'
import { upstreamFault } from './upstream-fault.ts'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** The call need not wait for others any more. */
  readonly onTurn?: (() => void) | undefined
  /** Whose call it is; undefined for one that belongs to no session. */
  readonly session?: CallSession | undefined
}

export interface ToolList<Tool> {
  readonly tools: readonly Tool[]
  /** How long the upstream says that the list will do. */
  readonly ttlMs: number | undefined
}

export interface ConnectionParts {
  readonly client: Client
  readonly sdk: Sdk
  readonly record: UpstreamRecord
  /** Why the other side is gone. */
  readonly ending: () => string
  /** Whether there is a session that the upstream can forget. */
  readonly hasSession: () => boolean
  /** Takes the credentials out of a text. */
  readonly scrub: (text: string) => string
}

const MAX_TOOLS = 1000
const MAX_PAGES = 100
const MAX_PROGRESS_TEXT = 1000

const listPage = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
  ttlMs: z.number().optional(),
})

/** A connection to an upstream that has shaken hands, in the era that it speaks. */
export class Connection {
  readonly #parts: ConnectionParts
  readonly #closing = new AbortController()
  /** Resolves when it is of no use any more, with the reason. It never rejects. */
  readonly lost: Promise<string>
  #resolveLost: (reason: string) => void = () => {}
  #isLost = false

  /** For a client that is about to connect. */
  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve
    })
    parts.client.onclose = () => this.#lose(parts.ending())
  }

  /** Set before the calls under way fail. */
  get isLost(): boolean {
    return this.#isLost
  }

  get protocolVersion(): string | null {
    return this.#parts.client.getNegotiatedProtocolVersion() ?? null
  }

  get isModern(): boolean {
    return this.#parts.client.getProtocolEra() === 'modern'
  }

  /** What the upstream calls itself. */
  get server(): string | null {
    const { name, version } = this.#parts.client.getServerVersion() ?? {}
    return name === undefined ? null : cleanLine(`${name} ${version ?? ''}`, 100)
  }

  /** Every page of the list, of which only what was read is kept. Rejects with a Fault. */
  async list<Tool>(read: (tool: unknown) => Tool): Promise<ToolList<Tool>> {
    const { client, record } = this.#parts
    const tools: Tool[] = []
    let ttlMs: number | undefined
    let cursor: string | undefined
    if (client.getServerCapabilities()?.tools === undefined) return { tools, ttlMs }
    try {
      for (let pages = 0; pages < MAX_PAGES && tools.length < MAX_TOOLS; pages++) {
        const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } }
        const page = await client.request(request, listPage, {
          timeout: record.connect_timeout_ms,
          signal: this.#closing.signal,
        })
        for (const tool of page.tools.slice(0, MAX_TOOLS - tools.length)) tools.push(read(tool))
        ttlMs = page.ttlMs ?? ttlMs
        cursor = page.nextCursor
        if (cursor === undefined) break
      }
    } catch (error) {
      throw this.#fault(error)
    }
    return { tools, ttlMs }
  }

  /** Rejects with a Fault, or at once with the reason of the signal; the upstream is then told. */
  async call(
    definition: Definition,
    args: JsonObject,
    { signal, onProgress }: CallOptions,
  ): Promise<CallToolResult> {
    const { client, record } = this.#parts
    const { name, inputSchema } = definition
    try {
      const result = await client.callTool(
        { name, arguments: args },
        {
          timeout: record.timeout_ms,
          // Without the output schema: a schema that somebody else wrote is not run here.
          toolDefinition: { name, inputSchema: { ...inputSchema, type: 'object' } },
          ...(signal && { signal }),
          ...(onProgress && { onprogress: (progress) => onProgress(cleanProgress(progress)) }),
        },
      )
      result._meta = provenance(record.name, result._meta)
      return result
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#fault(error)
    }
  }

  /** Calls back when the upstream says that its tools are others, as long as the connection lasts. */
  onListChanged(changed: () => void): void {
    const { client } = this.#parts
    client.setNotificationHandler('notifications/tools/list_changed', changed)
    const isPromised = client.getServerCapabilities()?.tools?.listChanged === true
    if (this.isModern && isPromised) void this.#keepListening(changed)
  }

  /** It is of no use any more. Whoever waits for that closes it. */
  giveUp(reason: string): void {
    this.#lose(reason)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#lose('it was closed')
    await this.#parts.client.close()
  }

  /** Newer servers tell only those who listen. Whatever changed between two times is asked for. */
  async #keepListening(changed: () => void): Promise<void> {
    const { client, record } = this.#parts
    const { signal } = this.#closing
    const backoff = new Backoff(record.restart)
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const began = performance.now()
      try {
        const timeout = record.connect_timeout_ms
        const { closed } = await client.listen({ toolsListChanged: true }, { signal, timeout })
        if (!isFirst) changed()
        await closed
      } catch {
        // Tried again below.
      }
      await pause(backoff.next(performance.now() - began), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #lose(reason: string): void {
    this.#isLost = true
    this.#resolveLost(reason)
  }

  #fault(error: unknown): Fault {
    const { sdk, record, scrub, hasSession } = this.#parts
    if (sdk.SdkHttpError.isInstance(error)) {
      const { status, data } = error
      const isForgotten = status === 404 || (status === 400 && /session/i.test(String(data.text)))
      if (hasSession() && isForgotten) {
        this.#lose('the server has forgotten the session')
        return upstreamFault(new sdk.SdkError(sdk.SdkErrorCode.ConnectionClosed, ''), sdk, {
          upstream: record.name,
          scrub,
        })
      }
      // The credential is looked up again with the next connection.
      if (status === 401) this.#lose('the server does not accept the credential')
    }
    return upstreamFault(error, sdk, { upstream: record.name, scrub })
  }
}

type Meta = Readonly<Record<string, unknown>>

/** Says where a result is from. What the upstream says under names that are ours, or the protocol's, is left out. */
function provenance(upstream: string, meta: Meta = {}): Record<string, unknown> {
  const own = Object.entries(meta).filter(([key]) => !/^(io\.modelcontextprotocol|asyncgate)\//.test(key))
  return Object.fromEntries([
    ...own,
    ['asyncgate/origin', `upstream:${upstream}`],
    ['asyncgate/untrusted', true],
  ])
}

function cleanProgress({ progress, total, message }: Progress): Progress {
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message: cleanLine(message, MAX_PROGRESS_TEXT) }),
  }
}
