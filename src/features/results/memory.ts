import type { Json } from '../../core/json/json.ts'

/** Where agents keep what they have learnt: another system, which the gate only hands results to. */
export interface Memory {
  /**
   * Resolves with the id under which the memory keeps it, if it tells one. The same `dedupe_key` is the same note,
   * however often it is stored. Refuses with MEMORY_REFUSED or MEMORY_UNAVAILABLE.
   */
  store(note: MemoryNote, signal?: AbortSignal): Promise<string | null>
}

export const MEMORY_KINDS = ['observation', 'pattern'] as const

/** A result, as it goes to the memory. */
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
