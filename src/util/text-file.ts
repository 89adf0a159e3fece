import { randomUUID } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'

/** A text in a file. It is replaced as a whole, so that a crash leaves the old text or the new one. */
export function textFile(path: string): {
  /** Undefined if there is no such file. */
  load(): Promise<string | undefined>
  save(text: string): Promise<void>
} {
  return {
    async load() {
      try {
        return await readFile(path, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    async save(text) {
      const next = `${path}.${randomUUID()}`
      await writeFile(next, text, { flush: true })
      await rename(next, path)
    },
  }
}
