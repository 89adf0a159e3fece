/**
 * Records beside the tasks: what operators register, and what the server keeps for itself. Each is a JSON text under a
 * kind and a name. They change rarely, so a write is a transaction of its own.
 */
export interface Entries {
  get(tenant: number, kind: string, name: string): Promise<Entry | undefined>
  /** Those of these names that there are, in no particular order. */
  several(tenant: number, kind: string, names: readonly string[]): Promise<Entry[]>
  /** Those with a name above `after`, in the order of their names' bytes. */
  list(tenant: number, kind: string, after: string, limit: number): Promise<Entry[]>
  /** Those whose due time is `now` or earlier, the earliest first. */
  due(tenant: number, kind: string, now: number, limit: number): Promise<Entry[]>
  /**
   * Writes an entry and resolves with its new version. It is written only if its version is still the expected one: 0
   * means that there is none yet, undefined that any will do. Otherwise nothing happens, and it resolves with undefined.
   */
  put(entry: EntryDraft, expected?: number): Promise<number | undefined>
  /**
   * Writes those that are new, in one transaction, and resolves with their names. All are of one tenant and kind. Nothing
   * happens to an entry that there is.
   */
  insertNew(entries: readonly EntryDraft[]): Promise<ReadonlySet<string>>
  /** Removes those whose due time is the earliest, in one transaction. */
  removeFirstDue(tenant: number, kind: string, limit: number): Promise<void>
  /** How many there are, counted up to `limit`. */
  count(tenant: number, kind: string, limit: number): Promise<number>
  /** Whether it was there. */
  remove(tenant: number, kind: string, name: string): Promise<boolean>
}

export interface EntryDraft {
  readonly tenant: number
  readonly kind: string
  readonly name: string
  readonly value: string
  /** When somebody must look at it; null: never. */
  readonly due_at: number | null
}

export interface Entry extends EntryDraft {
  /** Counts its writes from 1. */
  readonly version: number
}
