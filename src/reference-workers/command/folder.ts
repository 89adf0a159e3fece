import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A path that is not inside the folder. */
export class PathRefused extends Error {}

/** A file that gets its name only when it is complete. */
export interface NewFile {
  readonly handle: FileHandle
  /** Renames the file to its name and replaces an existing file. */
  keep(): Promise<void>
  drop(): Promise<void>
}

/** A folder that paths of tasks cannot leave: they are relative, without `..`, and follow no symbolic link. */
export class Folder {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async open(path: string): Promise<Folder> {
    await mkdir(path, { recursive: true, mode: 0o700 })
    return new Folder(await realpath(path))
  }

  /** A subfolder, which is created if it does not exist. */
  async directory(relative: string): Promise<string> {
    return relative === '' ? this.path : this.#descend(parts(relative))
  }

  async create(relative: string): Promise<NewFile> {
    const names = parts(relative)
    const name = names.at(-1) ?? ''
    const inside = names.slice(0, -1)
    const directory = await this.#descend(inside)
    const target = join(directory, name)
    await refuseUnless(target, (stats) => stats === undefined || stats.isFile())
    const unfinished = join(directory, `.${randomUUID()}.part`)
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    const handle = await open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    return {
      handle,
      keep: async () => {
        await handle.close()
        // The command may have created a link meanwhile.
        await this.#descend(inside)
        await refuseUnless(target, (stats) => stats === undefined || stats.isFile())
        await rename(unfinished, target)
      },
      drop: async () => {
        await handle.close().catch(() => {})
        await rm(unfinished, { force: true })
      },
    }
  }

  async #descend(names: readonly string[]): Promise<string> {
    let path = this.path
    for (const name of names) {
      path = join(path, name)
      await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      })
      await refuseUnless(path, (stats) => stats?.isDirectory() === true)
    }
    return path
  }
}

const MAX_LENGTH = 1_024

function parts(relative: string): string[] {
  const names = relative.split('/')
  const isBad = (name: string) => name === '' || name === '.' || name === '..' || /[\\\0]/.test(name)
  if (relative.length > MAX_LENGTH || names.some(isBad)) {
    throw new PathRefused('it is not a relative path without ..')
  }
  return names
}

/** Checks the path itself and does not follow a link. */
async function refuseUnless(path: string, isFine: (stats: Stats | undefined) => boolean): Promise<void> {
  const stats = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
  if (!isFine(stats)) throw new PathRefused('the path exists and has another type')
}
