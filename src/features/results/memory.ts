import type { Json } from '../../core/json/json.ts'

/** The memory service of agents: another system, to which results can be promoted. */
export interface Memory {
  /**
   * Resolves with the id of the stored note, if the memory returns one. Notes with the same `dedupe_key` are one note,
   * however often they are stored. Rejects with MEMORY_REFUSED or MEMORY_UNAVAILABLE.
   */
  store(note: MemoryNote, signal?: AbortSignal): Promise<string | null>
}

export const MEMORY_KINDS = ['observation', 'pattern'] as const

/** A result, as it is sent to the memory. */
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
