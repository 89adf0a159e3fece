import type { Artifact } from '../../core/artifact.ts'
import type { Settings } from '../../core/settings.ts'

/**
 * Where results are kept that do not fit into their task. The gate knows only this much of the channels behind it.
 * Everything is put under the id of its task, and only handed out under the same.
 */
export interface ResultStore {
  /** Where a result goes whose type names no channel; null if nothing can be put. */
  readonly channel: string | null
  /** Whether pointers of this channel can be used. */
  has(channel: string): boolean
  /** Resolves when the content is safe; refuses with PAYLOAD_TOO_LARGE as soon as it is over `max_bytes`. */
  put(task: ResultTask, content: ResultContent, options: PutResult): Promise<StoredArtifact>
  /** Nothing is open before it is read. Who reads all of it reads what the artifact says, or fails at the end. */
  get(task_id: string, artifact: Artifact): Promise<OpenContent>
  /** The content is no longer needed; with `reference`, what one put has added is taken back. */
  ack(task_id: string, pointer: string, reference?: string): Promise<void>
}

/** What a channel may tell others about the task. */
export interface ResultTask {
  readonly task_id: string
  readonly type: string
  readonly principal_ai: string
  readonly owner: string
  readonly summary: string | null
}

export type ResultContent = Uint8Array | AsyncIterable<Uint8Array>

export interface PutResult {
  readonly channel: string
  readonly media_type: string
  readonly max_bytes: number
  /** A name for this put, by which it can be taken back. */
  readonly reference: string
}

/** What the gate or its channels have written, so that nothing about it is unknown. */
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
  /** Undefined if nobody knows before all of it is read. */
  readonly size: number | undefined
  /** All of it, or a part, which is not checked. */
  read(part?: Part): AsyncIterable<Uint8Array>
}

/** The largest result that stays with its task. */
export function inlineLimit(settings: Settings): number {
  return Math.min(settings.result_inline_max_bytes, settings.max_payload_bytes)
}
