import { randomUUID } from 'node:crypto'
import { access, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from './disk.ts'
import { codeOf } from './pointer.ts'

/**
 * The tasks that use a blob: a folder next to it, with a folder per task and a file per put. The blob is removed with the
 * last reference. Processes may put and remove concurrently: a put writes its reference before it renames the blob into
 * place, and a removal renames the blob away before it checks for references again.
 */
export class BlobReferences {
  readonly #blob: string
  readonly #folder: string

  constructor(blob: string) {
    this.#blob = blob
    this.#folder = `${blob}.refs`
  }

  async add(taskId: string, reference: string): Promise<void> {
    const home = join(this.#folder, taskId)
    await mkdir(dirname(this.#folder), { recursive: true, mode: 0o700 })
    for (;;) {
      try {
        // One by one: a recursive mkdir fails with ENOTDIR if another process removes a folder at the wrong moment.
        await makeFolder(this.#folder)
        await makeFolder(home)
        await (await open(join(home, reference), 'w', 0o600)).close()
        await syncFolder(home)
        await syncFolder(this.#folder)
        return
      } catch (error) {
        // A concurrent removal has deleted the empty folder.
        if (codeOf(error) !== 'ENOENT') throw error
      }
    }
  }

  async has(taskId: string): Promise<boolean> {
    return exists(join(this.#folder, taskId))
  }

  /** Removes one reference of a task, or all of them. */
  async remove(taskId: string, reference: string | undefined): Promise<void> {
    const home = join(this.#folder, taskId)
    const names = reference === undefined ? await namesIn(home) : [reference]
    for (const name of names) await rm(join(home, name), { force: true })
    await removeEmpty(home)
  }

  /** Removes the blob if it has no references. */
  async collect(): Promise<void> {
    if (!(await removeEmpty(this.#folder))) return
    const aside = `${this.#blob}.${randomUUID()}.gone`
    try {
      await rename(this.#blob, aside)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return
      throw error
    }
    if (await exists(this.#folder)) await rename(aside, this.#blob)
    else await rm(aside, { force: true })
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Resolves with whether the folder no longer exists. */
async function removeEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return true
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false
    throw error
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
