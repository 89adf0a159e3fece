/** Where archives are stored. The name of a file is the SHA-256 of its content. */
export interface ArchiveStore {
  readonly kind: 'disk' | 's3'
  /** Stores the content durably. Storing it again has no effect. */
  put(file: string, content: Uint8Array): Promise<void>
  /** Undefined if there is no such file. */
  get(file: string): Promise<Buffer | undefined>
  /** Removes the file if it exists. */
  remove(file: string): Promise<void>
}

export interface RetentionOptions {
  /** Days after which receipts of ended tasks are archived; 0: never. */
  readonly receiptDays?: number
  /** Without it nothing is archived. */
  readonly archive?: ArchiveStore | undefined
}
