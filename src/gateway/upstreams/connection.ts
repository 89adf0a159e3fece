import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client, ElicitResult, SubscriptionFilter } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { readOf, type UpstreamRead } from '../../features/upstreams/reads.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { Completed, Completing } from '../../features/upstreams/upstreams.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { type Answer, completeAnswer, readRequest } from '../calls/read-answers.ts'
import { Backoff } from './backoff.ts'
import type { ConnectionCallOptions } from './call-options.ts'
import { CallTimer } from './call-timer.ts'
import { cleanProgress, provenance, withoutEnvelope } from './clean-results.ts'
import type { Definition } from './definition.ts'
import {
  type InputRequired,
  notOffered,
  type Repetition,
  readElicitation,
  readInputRequired,
  readUrlsRequired,
  UnaskableError,
} from './elicitation.ts'
import type { RawOffers } from './offers.ts'
import { type Sdk, upstreamFault } from './upstream-fault.ts'

/** A call that the upstream has not responded to. */
interface OpenCall {
  readonly elicit: ConnectionCallOptions['elicit']
  readonly timer: CallTimer
}

type ListKind = 'tools' | 'prompts' | 'resources'

export interface ToolList<Tool> {
  readonly tools: readonly Tool[]
  /** How long the list is valid, according to the upstream. */
  readonly ttlMs: number | undefined
}

export interface ConnectionDeps {
  readonly client: Client
  readonly sdk: Sdk
  readonly record: UpstreamRecord
  /** Why the connection was closed. */
  readonly ending: () => string
  /** Whether the upstream has a session that it can forget. */
  readonly hasSession: () => boolean
  /** Removes credentials from a text. */
  readonly scrub: (text: string) => string
}

const AMBIGUOUS =
  'AsyncGate cannot tell which of several running calls this request belongs to: send it on the stream of its call'
const NO_CALL = 'The request belongs to no running call.'
/** Reasons that are reported for one connection. */
const MAX_REASONS = 20

/** The timer of the call counts instead: it does not run while the upstream waits for an answer. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

const MAX_ITEMS = 1000
const MAX_PAGES = 100

/** Listing prompts and resources must not delay the tools of an upstream for longer. */
const MAX_OFFERS_MS = 10_000

const listPage = z.looseObject({ nextCursor: z.string().optional(), ttlMs: z.number().optional() })

/** A connection to an upstream. */
export class Connection {
  readonly #deps: ConnectionDeps
  readonly #closing = new AbortController()
  /** Resolves with the reason when the connection cannot be used any more. Never rejects. */
  readonly lost: Promise<string>
  #resolveLost: (reason: string) => void = () => {}
  #isLost = false
  readonly #calls = new Set<OpenCall>()
  /**
   * The call in whose stream a message arrived. A stream is read in the asynchronous context of the request that opened it;
   * messages that belong to no stream of a request have no context. Only legacy HTTP servers send requests on such
   * streams, and on Node 20 a context slows down every promise of the process, so that others have none.
   */
  readonly #streams: AsyncLocalStorage<OpenCall | 'no call'> | undefined
  /** Receives why a request of the upstream was refused, once for each reason. */
  onRefused: (problem: string) => void = () => {}
  readonly #refused = new Set<string>()

  /** The client connects after this. */
  constructor(deps: ConnectionDeps) {
    this.#deps = deps
    this.#streams = deps.record.transport.type === 'http' ? new AsyncLocalStorage() : undefined
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve
    })
    const { client } = deps
    client.onclose = () => this.#lose(deps.ending())
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
      this.#elicited(params, mcpReq.signal),
    )
    client.fallbackRequestHandler = async ({ method }) => {
      throw this.#refusal(deps.sdk.ProtocolErrorCode.MethodNotFound, notOffered(method))
    }
  }

  /** Set before the running calls fail. */
  get isLost(): boolean {
    return this.#isLost
  }

  get protocolVersion(): string | null {
    return this.#deps.client.getNegotiatedProtocolVersion() ?? null
  }

  get isModern(): boolean {
    return this.#deps.client.getProtocolEra() === 'modern'
  }

  /** The name and version that the upstream reports. */
  get server(): string | null {
    const { name, version } = this.#deps.client.getServerVersion() ?? {}
    return name === undefined ? null : cleanLine(`${name} ${version ?? ''}`, 100)
  }

  /** Reads all pages. Rejects with a Fault. */
  async list<Tool>(read: (tool: unknown) => Tool): Promise<ToolList<Tool>> {
    const { client, record } = this.#deps
    if (client.getServerCapabilities()?.tools === undefined) return { tools: [], ttlMs: undefined }
    const { items, ttlMs } = await this.#pages('tools/list', 'tools', read, record.connect_timeout_ms)
    return { tools: items, ttlMs }
  }

  /** Reads all pages of prompts and resources. A list that the upstream refuses is empty. Rejects with a Fault. */
  async listOffers(): Promise<RawOffers> {
    const { client, record } = this.#deps
    const { prompts, resources, completions } = client.getServerCapabilities() ?? {}
    const timeout = Math.min(record.connect_timeout_ms, MAX_OFFERS_MS)
    const list = async (has: boolean, method: string, key: string): Promise<readonly unknown[]> => {
      if (!has) return []
      try {
        return (await this.#pages(method, key, (item) => item, timeout)).items
      } catch (error) {
        if (error instanceof Fault && error.code === 'UPSTREAM_REFUSED') return []
        throw error
      }
    }
    const has = {
      prompts: prompts !== undefined,
      resources: resources !== undefined,
      completions: completions !== undefined,
    }
    return {
      prompts: await list(has.prompts, 'prompts/list', 'prompts'),
      resources: await list(has.resources, 'resources/list', 'resources'),
      templates: await list(has.resources, 'resources/templates/list', 'resourceTemplates'),
      has,
    }
  }

  async #pages<Item>(method: string, key: string, read: (item: unknown) => Item, timeout: number) {
    const { client } = this.#deps
    const page = listPage.refine((answer) => Array.isArray(answer[key]))
    const items: Item[] = []
    let ttlMs: number | undefined
    let cursor: string | undefined
    try {
      for (let pages = 0; pages < MAX_PAGES && items.length < MAX_ITEMS; pages++) {
        const request = { method, params: cursor === undefined ? {} : { cursor } }
        const options = { timeout, signal: this.#closing.signal }
        const answer = await this.#within('no call', () => client.request(request, page, options))
        const listed = answer[key]
        const found: readonly unknown[] = Array.isArray(listed) ? listed : []
        for (const item of found.slice(0, MAX_ITEMS - items.length)) items.push(read(item))
        ttlMs = answer.ttlMs ?? ttlMs
        cursor = answer.nextCursor
        if (cursor === undefined) break
      }
    } catch (error) {
      throw this.#fault(error)
    }
    return { items, ttlMs }
  }

  /** Rejects with a Fault, or with the reason of the signal; the upstream is then notified. */
  async call(
    definition: Definition,
    args: JsonObject,
    options: ConnectionCallOptions,
  ): Promise<Answer | InputRequired> {
    const { record, scrub } = this.#deps
    const { signal } = options
    const timer = new CallTimer(record.timeout_ms, signal)
    const call: OpenCall = { elicit: options.elicit, timer }
    this.#calls.add(call)
    try {
      return await this.#within(call, () => this.#send(definition, args, options, timer.signal))
    } catch (error) {
      signal?.throwIfAborted()
      if (timer.isOver) throw new Fault('UPSTREAM_TIMEOUT', { upstream: record.name })
      if (this.#wantsPages(error)) return this.#asking(() => readUrlsRequired(pagesIn(error), scrub))
      throw this.#fault(error)
    } finally {
      this.#calls.delete(call)
      timer.stop()
    }
  }

  async #send(
    { name, inputSchema }: Definition,
    args: JsonObject,
    { onProgress, repetition = {} }: ConnectionCallOptions,
    signal: AbortSignal,
  ): Promise<Answer | InputRequired> {
    const { client, sdk, record, scrub } = this.#deps
    const options = { timeout: NO_TIMEOUT_MS, signal, allowInputRequired: true }
    const read = readOf(name)
    if (read !== undefined) return this.#read(read, args, repetition, options)
    const result = await client.callTool(
      { name, arguments: args, ...repetition },
      {
        ...options,
        // Without the output schema: an untrusted schema must not be evaluated here.
        toolDefinition: { name, inputSchema: { ...inputSchema, type: 'object' } },
        ...(onProgress && { onprogress: (progress) => onProgress(cleanProgress(progress, scrub)) }),
      },
    )
    if (sdk.isInputRequiredResult(result)) return this.#asking(() => readInputRequired(result, scrub))
    result._meta = provenance(record.name, result._meta)
    return result
  }

  #within<Answer>(call: OpenCall | 'no call', request: () => Promise<Answer>): Promise<Answer> {
    return this.#streams === undefined || this.isModern ? request() : this.#streams.run(call, request)
  }

  /** Asks the question of a legacy upstream for the call that it belongs to. */
  async #elicited(params: unknown, signal: AbortSignal): Promise<ElicitResult> {
    const { sdk, scrub } = this.#deps
    const { InvalidParams, InvalidRequest } = sdk.ProtocolErrorCode
    const current = this.#streams?.getStore()
    const call = current ?? (this.#calls.size === 1 ? [...this.#calls][0] : undefined)
    if (call === undefined || call === 'no call' || !this.#calls.has(call) || call.elicit === undefined) {
      const problem = current === undefined && this.#calls.size > 1 ? AMBIGUOUS : NO_CALL
      throw this.#refusal(InvalidRequest, problem)
    }
    try {
      const elicitation = readElicitation(params, scrub)
      call.timer.pause()
      const answer = call.elicit(elicitation, signal, current !== undefined)
      return await answer.finally(() => call.timer.resume())
    } catch (error) {
      if (error instanceof UnaskableError) throw this.#refusal(InvalidParams, error.message)
      throw error
    }
  }

  #refusal(code: number, problem: string): Error {
    if (!this.#refused.has(problem) && this.#refused.size < MAX_REASONS) {
      this.#refused.add(problem)
      this.onRefused(problem)
    }
    return new this.#deps.sdk.ProtocolError(code, problem)
  }

  /** Whether the upstream rejected the call until certain pages have been opened. */
  #wantsPages(error: unknown): boolean {
    const { ProtocolError, ProtocolErrorCode } = this.#deps.sdk
    return ProtocolError.isInstance(error) && error.code === ProtocolErrorCode.UrlElicitationRequired
  }

  /** Rejects input that cannot be asked for with a Fault. */
  #asking(read: () => InputRequired): InputRequired {
    const { record } = this.#deps
    try {
      return read()
    } catch (error) {
      if (!(error instanceof UnaskableError)) throw error
      const problem = `the upstream requires input that cannot be asked for: ${error.message}`
      throw new Fault('UPSTREAM_REFUSED', { upstream: record.name, problem })
    }
  }

  /** Asks the upstream to complete an argument. Rejects as `call` does. */
  async complete({ ref, argument, others }: Completing, signal: AbortSignal | undefined): Promise<Completed> {
    const { client, record } = this.#deps
    const params = { ref, argument, ...(others && { context: { arguments: others } }) }
    const options = { timeout: Math.min(record.timeout_ms, MAX_OFFERS_MS), ...(signal && { signal }) }
    const request = { method: 'completion/complete', params }
    try {
      const response = this.#within('no call', () => client.request(request, completeAnswer, options))
      return (await response).completion
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#fault(error)
    }
  }

  async #read(
    read: UpstreamRead,
    args: JsonObject,
    repetition: Repetition,
    options: { readonly timeout: number; readonly signal: AbortSignal; readonly allowInputRequired: boolean },
  ): Promise<Answer | InputRequired> {
    const { client, sdk, record, scrub } = this.#deps
    const { answer, method, params } = readRequest(read, args)
    const request = { method, params: { ...params, ...repetition } }
    const response = await client.request(request, sdk.withInputRequired(answer), options)
    if (sdk.isInputRequiredResult(response)) return this.#asking(() => readInputRequired(response, scrub))
    const { _meta, ...result } = response
    return { ...withoutEnvelope(result), _meta: provenance(record.name, _meta) }
  }

  /** Calls back when the upstream announces that one of the lists has changed, until the connection is closed. */
  onListChanged(lists: readonly ListKind[], changed: () => void): void {
    const { client } = this.#deps
    const capabilities = client.getServerCapabilities() ?? {}
    const filter: SubscriptionFilter = {}
    for (const list of lists) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, changed)
      if (capabilities[list]?.listChanged === true) filter[`${list}ListChanged`] = true
    }
    if (this.isModern && Object.keys(filter).length > 0) void this.#keepListening(filter, changed)
  }

  /** The owner of the connection closes it then. */
  giveUp(reason: string): void {
    this.#lose(reason)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#lose('it was closed')
    await this.#deps.client.close()
  }

  /** Modern servers notify subscribers only. After a reconnect, changes in between are assumed. */
  async #keepListening(filter: SubscriptionFilter, changed: () => void): Promise<void> {
    const { client, record } = this.#deps
    const { signal } = this.#closing
    const backoff = new Backoff(record.restart)
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const began = performance.now()
      try {
        const timeout = record.connect_timeout_ms
        const { closed } = await client.listen(filter, { signal, timeout })
        if (!isFirst) changed()
        await closed
      } catch {
        // The loop tries again.
      }
      await pause(backoff.next(performance.now() - began), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #lose(reason: string): void {
    this.#isLost = true
    this.#resolveLost(reason)
  }

  #fault(error: unknown): Fault {
    const { sdk, record, scrub, hasSession } = this.#deps
    if (sdk.SdkHttpError.isInstance(error)) {
      const { status, data } = error
      const isForgotten = status === 404 || (status === 400 && /session/i.test(String(data.text)))
      if (hasSession() && isForgotten) {
        this.#lose('the server has forgotten the session')
        // A server that does not know the session has not processed the request.
        return upstreamFault(new sdk.SdkError(sdk.SdkErrorCode.NotConnected, ''), sdk, {
          upstream: record.name,
          scrub,
        })
      }
      // The next connection reads the credential again.
      if (status === 401) this.#lose('the server does not accept the credential')
    }
    return upstreamFault(error, sdk, { upstream: record.name, scrub })
  }
}

function pagesIn(error: unknown): unknown {
  const data = isObject(error) ? error.data : undefined
  return isObject(data) ? data.elicitations : undefined
}
