import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An empty folder and its files. */
export interface Folder {
  readonly path: string
  files(): string[]
  remove(): void
}

export function emptyFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'asyncgate-channel-'))
  return {
    path,
    files: () =>
      readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => statSync(join(path, name)).isFile() && name !== 'store-id')
        .toSorted(),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
