import type { ArchiveStore } from '../../../src/features/retention/port.ts'

/** An archive that tests can look into. */
export class ArchiveInMemory implements ArchiveStore {
  readonly kind = 'disk'
  readonly files = new Map<string, Buffer>()

  async put(file: string, content: Uint8Array): Promise<void> {
    this.files.set(file, Buffer.from(content))
  }

  async get(file: string): Promise<Buffer | undefined> {
    return this.files.get(file)
  }

  async remove(file: string): Promise<void> {
    this.files.delete(file)
  }
}
