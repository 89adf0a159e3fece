import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { ServerEvent, Tool } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Caller } from '../../core/principal.ts'
import type { ServerDefinition } from '../server.ts'
import type { Listing } from '../tools/listing.ts'
import { LIST_KINDS } from '../tools/tool.ts'
import type { ListWatch } from '../tools/watched-lists.ts'
import type { Introduction } from './client-instance.ts'
import { type ClientPeer, type PeerResponse, PeerState, type SendToPeer } from './peer.ts'
import { type EventBudget, type EventId, ResumableStream, streamId } from './resumable-stream.ts'
import { TaskStatuses } from './task-statuses.ts'

/** The streams of responses that a client can resume; the oldest is dropped. */
const MAX_RESPONSES = 8

/** The notifications that wait for the client to connect; the oldest is dropped. */
const MAX_MISSED = 256

export interface SessionDeps {
  readonly definition: ServerDefinition
  readonly budget: EventBudget
  /** How long a call continues after its client has disconnected from a stream that it can resume. */
  readonly resumeMs: number
}

interface StreamOptions {
  readonly last: EventId | 'unknown' | undefined
  readonly primes: boolean
  readonly listing: Listing | undefined
}

/**
 * The session of a legacy client. Nothing in it is durable: what it holds is created again, or on demand, after it was
 * lost. Most sessions are idle, so that members are created when they are first used.
 */
export class ClientSession {
  readonly credential: Credential
  readonly introduction: Introduction
  lastUsed: number
  readonly #deps: SessionDeps
  /** The stream of notifications, once the client has opened it. */
  #stream: ResumableStream | undefined
  #responses: Map<string, ResumableStream> | undefined
  #state: PeerState | undefined
  #tasks: TaskStatuses | undefined
  /** Notifications that wait for the client to connect, by their subject. */
  #missed: Map<string, string> | undefined
  /** The tools that the client may have listed. */
  #listed: readonly Tool[] | undefined
  #listing: Listing | undefined
  #watch: ListWatch | undefined
  #openCalls = 0

  constructor(credential: Credential, introduction: Introduction, now: number, deps: SessionDeps) {
    this.credential = credential
    this.introduction = introduction
    this.lastUsed = now
    this.#deps = deps
  }

  get resumeMs(): number {
    return this.#deps.resumeMs
  }

  get isIdle(): boolean {
    return this.#openCalls === 0 && this.#stream?.isConnected !== true
  }

  /** The session is not idle while the call runs. */
  async during(call: () => Promise<void>): Promise<void> {
    this.#openCalls++
    try {
      await call()
    } finally {
      this.#openCalls--
    }
  }

  /** The client, with `send` for the messages of one call. */
  peer(send: SendToPeer): ClientPeer {
    this.#state ??= new PeerState()
    return this.#state.peer(this.introduction.capabilities, send)
  }

  /** Whether a request was waiting for this response. */
  settle(response: PeerResponse): boolean {
    return this.#state?.requests.settle(response) ?? false
  }

  /** A stream for the response to a request; undefined if it cannot be resumed. */
  responseStream(requestId: string | number): ResumableStream | undefined {
    const id = streamId(requestId, nonce())
    if (id === undefined) return undefined
    this.#responses ??= new Map()
    const stream = new ResumableStream(id, this.#deps.budget)
    this.#responses.set(id, stream)
    for (const [oldest, { hasEnded }] of this.#responses) {
      if (this.#responses.size <= MAX_RESPONSES) break
      if (hasEnded) this.#forget(oldest)
    }
    return stream
  }

  /** The stream of a response, if all events after this one are still there. */
  resumable({ stream: id, n }: EventId): ResumableStream | undefined {
    const stream = this.#responses?.get(id)
    return stream?.hasAfter(n) ? stream : undefined
  }

  /** Sends changes of the status of a task until it ends. */
  followTask(taskId: string, caller: Caller): Promise<void> {
    this.#tasks ??= new TaskStatuses(this.#deps.definition.tasks, (task) =>
      this.notify('notifications/tasks/status', { ...task }, task.taskId),
    )
    return this.#tasks.follow(taskId, caller)
  }

  /**
   * Sends a notification outside of a call. Until the client connects, the latest one about each subject waits for it.
   */
  notify(method: string, params: Fields, subject = ''): void {
    const json = JSON.stringify({ jsonrpc: '2.0', method, params })
    if (this.#stream?.isConnected) {
      this.#stream.send(json)
      return
    }
    this.#missed ??= new Map()
    this.#missed.delete(`${method} ${subject}`)
    this.#missed.set(`${method} ${subject}`, json)
    for (const oldest of this.#missed.keys()) {
      if (this.#missed.size <= MAX_MISSED) break
      this.#missed.delete(oldest)
    }
  }

  /** Sends a message of a call that is over, if the client is connected. */
  forward(message: object): void {
    if (this.#stream?.isConnected) this.#stream.send(JSON.stringify(message))
  }

  /** A list or a resource has changed, possibly for another tenant. */
  async changed(event: ServerEvent): Promise<void> {
    switch (event.kind) {
      case 'resource_updated':
        if (this.#state?.subscriptions.has(event.uri))
          this.notify('notifications/resources/updated', { uri: event.uri }, event.uri)
        return
      case 'tools_list_changed': {
        if (this.#stream === undefined) return
        const before = this.#listed
        const tools = await this.#tools().catch(() => undefined)
        if (tools !== undefined && (tools === before || tools === this.#listed)) return
        this.#listed = tools
        return this.notify('notifications/tools/list_changed', {})
      }
      case 'prompts_list_changed':
      case 'resources_list_changed':
        if (this.#stream === undefined) return
        return this.notify(`notifications/${event.kind.replace('_list_', '/list_')}`, {})
    }
  }

  /**
   * Opens the stream of notifications, instead of the one before. A client whose last event is unknown here may have
   * missed anything, so it is told that all lists have changed.
   */
  async openStream(response: ServerResponse, { last, primes, listing }: StreamOptions): Promise<void> {
    this.#listing = listing
    this.#watch ??= this.#deps.definition.watchLists?.(this.credential.tenant)
    this.#listed = await this.#tools()
    this.#stream ??= new ResumableStream(streamId(undefined, nonce()) ?? '', this.#deps.budget)
    const stream = this.#stream
    const isKnown = typeof last === 'object' && last.stream === stream.id && stream.hasAfter(last.n)
    stream.connect(response, isKnown ? { primes, after: last.n } : { primes })
    if (last !== undefined && !isKnown) this.#tellLists()
    for (const [subject, json] of this.#missed ?? []) {
      this.#missed?.delete(subject)
      stream.send(json)
    }
  }

  /** Releases the connection and the memory of the session. */
  close(): void {
    this.#watch?.stop()
    this.#tasks?.close()
    this.#state?.close()
    this.#stream?.abandon()
    for (const id of [...(this.#responses?.keys() ?? [])]) this.#forget(id)
  }

  #tellLists(): void {
    const capabilities = this.#deps.definition.capabilities('legacy', this.credential.tenant)
    for (const kind of LIST_KINDS) {
      if (capabilities[kind]?.listChanged) this.notify(`notifications/${kind}/list_changed`, {})
    }
  }

  #tools(): Promise<readonly Tool[]> {
    const { credential, introduction } = this
    const call = { credential, client: introduction.client, listing: this.#listing }
    return this.#deps.definition.tools.list(call, 'legacy')
  }

  #forget(id: string): void {
    const stream = this.#responses?.get(id)
    this.#responses?.delete(id)
    stream?.abandon()
  }
}

function nonce(): string {
  return randomUUID().slice(0, 18)
}
