import { randomUUID } from 'node:crypto'
import { access, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from './disk.ts'
import { codeOf } from './unavailable.ts'

/**
 * Which tasks use a blob: a folder beside it, with a folder for each task, with a file for each put. The blob goes with
 * the last of them. Puts and removals of several processes may meet: a put writes its reference before it puts the blob
 * in place, and a removal takes the blob aside before it looks for references once more.
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
    for (;;) {
      await mkdir(home, { recursive: true, mode: 0o700 })
      try {
        await (await open(join(home, reference), 'w', 0o600)).close()
        await syncFolder(home)
        await syncFolder(this.#folder)
        return
      } catch (error) {
        // A removal has just taken the empty folder away.
        if (codeOf(error) !== 'ENOENT') throw error
      }
    }
  }

  async has(taskId: string): Promise<boolean> {
    return isThere(join(this.#folder, taskId))
  }

  /** Takes one reference of a task away, or all of them. */
  async remove(taskId: string, reference: string | undefined): Promise<void> {
    const home = join(this.#folder, taskId)
    const names = reference === undefined ? await namesIn(home) : [reference]
    for (const name of names) await rm(join(home, name), { force: true })
    await removeEmpty(home)
  }

  /** Removes the blob if nobody uses it. */
  async collect(): Promise<void> {
    if (!(await removeEmpty(this.#folder))) return
    const aside = `${this.#blob}.${randomUUID()}.gone`
    try {
      await rename(this.#blob, aside)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return
      throw error
    }
    if (await isThere(this.#folder)) await rename(aside, this.#blob)
    else await rm(aside, { force: true })
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

/** Whether the folder is gone now. */
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

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
