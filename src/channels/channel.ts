import type { Json } from '../core/json/json.ts'

/**
 * A storage for results. A pointer is `channel:data`, and only its channel interprets the data. Every method rejects with
 * a Fault.
 */
export interface Channel {
  readonly name: string
  /** Resolves when the payload is durable. A failed put leaves nothing behind. */
  put(taskId: string, payload: Payload, options?: PutOptions): Promise<Stored>
  /** Can be repeated. Opens nothing before the payload is read. */
  get(pointer: string, options?: OwnerOptions): Promise<Fetched>
  /** The payload is no longer needed; most channels delete it. Can be repeated. */
  ack(pointer: string, options?: AckOptions): Promise<void>
  capabilities(): Capabilities
}

/** Bytes, a stream of bytes, or a JSON value, which is stored as canonical JSON. */
export type Payload = Uint8Array | AsyncIterable<Uint8Array> | Json

export interface PutOptions {
  /** By default application/json for a JSON value and application/octet-stream otherwise. */
  readonly media_type?: string | undefined
  /** Identifies this put, so that it can be undone where equal payloads share a pointer. */
  readonly reference?: string | undefined
  /** For channels that send a message about the result. */
  readonly about?: TaskAbout | undefined
}

/** The task in a message about its result. */
export interface TaskAbout {
  readonly type: string
  readonly principal_ai: string
  /** As in agent:alice. */
  readonly owner: string
  readonly summary: string | null
}

export interface OwnerOptions {
  /** The task that the pointer must belong to. Required for pointers from untrusted sources. */
  readonly taskId?: string | undefined
}

export interface AckOptions extends OwnerOptions {
  /** Undoes only the put with this reference. */
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
  /** Undefined where the channel does not know it before the payload is read. */
  readonly size: number | undefined
  /** The payload, or a part of it. Each call reads from the storage. */
  read(part?: Part): AsyncIterable<Uint8Array>
}

export interface Part {
  /** The first byte. */
  readonly offset: number
  /** The maximum number of bytes; infinity for all the rest. */
  readonly length: number
}

export interface Capabilities {
  /** Null: unlimited. */
  readonly max_size_bytes: number | null
  readonly supports_streaming: boolean
  readonly supports_attachments: boolean
  /** Null: until it is acknowledged. */
  readonly retention_days: number | null
  readonly human_readable: boolean
}

const DEFAULTS: Capabilities = {
  max_size_bytes: null,
  supports_streaming: false,
  supports_attachments: false,
  retention_days: null,
  human_readable: false,
}

/** The `capabilities` method of a channel that differs from the defaults in these properties. */
export function capable(differing: Partial<Capabilities>): Channel['capabilities'] {
  return () => ({ ...DEFAULTS, ...differing })
}
