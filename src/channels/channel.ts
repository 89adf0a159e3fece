import type { Json } from '../core/json/json.ts'

/**
 * A place where results are kept. A pointer is `channel:data`; only the channel that made it knows what the data
 * mean. Every method rejects with a Fault when it cannot do what it is asked.
 */
export interface Channel {
  readonly name: string
  /** Resolves when the payload is safe. What fails half-way leaves nothing behind. */
  put(taskId: string, payload: Payload, options?: PutOptions): Promise<Stored>
  /** Safe to call any number of times. Nothing is open before it is read. */
  get(pointer: string, options?: OwnerOptions): Promise<Fetched>
  /** The payload is no longer needed: what this means is up to the channel. Repeating it does no harm. */
  ack(pointer: string, options?: AckOptions): Promise<void>
  capabilities(): Capabilities
}

/** Bytes as they are, a stream of them, or any JSON value, which is kept as its canonical text. */
export type Payload = Uint8Array | AsyncIterable<Uint8Array> | Json

export interface PutOptions {
  /** application/json for a JSON value, application/octet-stream for anything else, unless this says otherwise. */
  readonly media_type?: string | undefined
  /** A name for this very put, by which it can be taken back; of interest where equal payloads share a pointer. */
  readonly reference?: string | undefined
  /** For channels that tell somebody about the result. */
  readonly about?: TaskAbout | undefined
}

/** What a message about a result can say. */
export interface TaskAbout {
  readonly type: string
  readonly principal_ai: string
  /** As in agent:alice. */
  readonly owner: string
  readonly summary: string | null
}

export interface OwnerOptions {
  /** The pointer must be of this task. Whoever passes on pointers that others gave him must say it. */
  readonly taskId?: string | undefined
}

export interface AckOptions extends OwnerOptions {
  /** Takes back the put of this name only. */
  readonly reference?: string | undefined
}

export interface Stored {
  readonly pointer: string
  readonly channel: string
  /** SHA-256 in hex. */
  readonly checksum: string
  readonly size: number
  readonly media_type: string
}

export interface Fetched {
  /** Undefined where the channel cannot tell before the payload is read. */
  readonly size: number | undefined
  /** The payload, or a part of it. Each call reads anew. */
  read(part?: Part): AsyncIterable<Uint8Array>
}

export interface Part {
  /** The first byte that is wanted. */
  readonly offset: number
  /** At most that many bytes; infinity for all the rest. */
  readonly length: number
}

export interface Capabilities {
  /** Null: as much as there is room for. */
  readonly max_size_bytes: number | null
  readonly supports_streaming: boolean
  readonly supports_attachments: boolean
  /** Null: until it is acknowledged. */
  readonly retention_days: number | null
  readonly human_readable: boolean
}
