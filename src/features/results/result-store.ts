import type { Artifact } from '../../core/artifact.ts'
import type { Json } from '../../core/json/json.ts'
import type { Settings } from '../../core/settings.ts'

/**
 * Stores results that are too large for their task; the port to the result channels. Content is stored under the id of
 * its task and can be read only with the same id.
 */
export interface ResultStore {
  /** The channel for results of a tenant whose type names none; null if nothing can be stored. */
  channelOf(tenant: number): string | null
  /** Whether a tenant can use pointers of this channel. */
  has(tenant: number, channel: string): boolean
  /** Resolves when the content is durable; rejects with PAYLOAD_TOO_LARGE as soon as it exceeds `max_bytes`. */
  put(task: ResultTask, content: ResultContent, options: PutResult): Promise<StoredArtifact>
  /** Nothing is opened before it is read. Reading the whole content verifies its checksum, and fails at the end otherwise. */
  get(owner: ResultOwner, artifact: Artifact): Promise<OpenContent>
  /** The content is no longer needed. With `reference`, only what that put has added is removed. */
  ack(owner: ResultOwner, pointer: string, reference?: string): Promise<void>
}

/** The task that a result belongs to. */
export interface ResultOwner {
  readonly tenant: number
  readonly task_id: string
}

/** The facts about the task that a channel may publish. */
interface ResultTask extends ResultOwner {
  readonly type: string
  readonly principal_ai: string
  readonly owner: string
  readonly summary: string | null
}

export type ResultContent = Uint8Array | AsyncIterable<Uint8Array>

interface PutResult {
  readonly channel: string
  readonly media_type: string
  readonly max_bytes: number
  /** Identifies this put, so that it can be undone. */
  readonly reference: string
}

/** An artifact that the server has written, so that everything about it is known. */
export interface StoredArtifact extends Artifact {
  readonly checksum: string
  readonly size: number
  readonly media_type: string
}

export interface Part {
  readonly offset: number
  readonly length: number
}

export interface OpenContent {
  /** Undefined if it is unknown until everything is read. */
  readonly size: number | undefined
  /** The whole content, or a part, whose checksum is not verified. */
  read(part?: Part): AsyncIterable<Uint8Array>
}

/** The largest result that the task itself stores, in bytes. */
export function inlineLimit(settings: Settings): number {
  return Math.min(settings.result_inline_max_bytes, settings.max_payload_bytes)
}

/** The memory service of agents: another system, to which results can be promoted. */
export interface Memory {
  /**
   * Resolves with the id of the stored note, if the memory returns one. Notes with the same `dedupe_key` are one note,
   * however often they are stored. Rejects with MEMORY_REFUSED or MEMORY_UNAVAILABLE.
   */
  store(note: MemoryNote, signal?: AbortSignal): Promise<string | null>
}

export const MEMORY_KINDS = ['observation', 'pattern'] as const

/** A result in the form that is sent to the memory service. */
export interface MemoryNote {
  readonly kind: (typeof MEMORY_KINDS)[number]
  readonly domain: string
  readonly dedupe_key: string
  /** The agent whose memory it is. */
  readonly principal_ai: string
  readonly task_id: string
  readonly type: string
  readonly completed_at: string
  readonly content: Json
  readonly encoding: 'json' | 'text' | 'base64'
  readonly media_type: string | null
  readonly result_pointer: string | null
}
