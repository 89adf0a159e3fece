import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
} from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { Part, Stored } from './channel.ts'
import { Meter, WHOLE } from './payload.ts'
import { codeOf, orUnavailable, unavailable } from './pointer.ts'

const READ_BYTES = 256 * 1024

/** The folder of files that are being written. */
const PARTIAL = '.partial'

/** An incomplete file that is older belongs to a process that has died. */
const ABANDONED_MS = 24 * 3600 * 1000

/** O_NONBLOCK, because a device or a pipe in place of a file must not block. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** The folder of a channel. Paths outside of it are neither read nor written. */
export class Disk {
  readonly #channel: string
  readonly #folder: string
  #root: Promise<string> | undefined

  constructor(channel: string, folder: string) {
    this.#channel = channel
    this.#folder = resolve(folder)
  }

  /** The real path of the folder, which is created on first use. */
  root(): Promise<string> {
    this.#root ??= this.#try(async () => {
      await mkdir(join(this.#folder, PARTIAL), { recursive: true, mode: 0o700 })
      await clearAbandoned(join(this.#folder, PARTIAL))
      return realpath(this.#folder)
    }).catch((error: unknown) => {
      this.#root = undefined
      throw error
    })
    return this.#root
  }

  /** Writes the content to a temporary file, syncs it and renames it atomically to the path that `place` returns. */
  async write(
    content: AsyncIterable<Uint8Array>,
    place: (written: Pick<Stored, 'checksum' | 'size'>) => Promise<string>,
  ): Promise<Pick<Stored, 'checksum' | 'size'> & { readonly path: string }> {
    const temporary = join(await this.root(), PARTIAL, randomUUID())
    const meter = new Meter()
    const handle = await this.#try(() => open(temporary, 'wx', 0o600))
    try {
      try {
        for await (const chunk of content) {
          meter.add(chunk)
          await this.#try(() => writeAll(handle, chunk))
        }
        await this.#try(() => handle.sync())
      } finally {
        await handle.close()
      }
      const written = meter.result()
      const path = await place(written)
      if (!(await this.#isInside(path))) throw unavailable(this.#channel, new Error(`${path} is a link`))
      await this.#try(async () => {
        await rename(temporary, path)
        await syncFolder(dirname(path))
      })
      return { path, ...written }
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  /** Creates a folder below the root, durably. */
  async makeFolder(path: string): Promise<void> {
    await this.#try(async () => {
      const made = await mkdir(path, { recursive: true, mode: 0o700 })
      if (made !== undefined) await syncFolder(dirname(made))
    })
  }

  /** The size of a file; undefined if it does not exist or the path leads out of the folder. */
  async sizeOf(path: string): Promise<number | undefined> {
    const handle = await this.#open(path)
    if (handle === undefined) return undefined
    try {
      return (await this.#try(() => handle.stat())).size
    } finally {
      await handle.close()
    }
  }

  /** Opens the file when the first chunk is read. */
  async *read(
    path: string,
    { offset, length }: Part = WHOLE,
    missing: () => Error,
  ): AsyncGenerator<Uint8Array> {
    const handle = await this.#open(path)
    if (handle === undefined) throw missing()
    try {
      let position = offset
      const end = offset + length
      while (position < end) {
        const size = Math.min(READ_BYTES, end - position)
        const { bytesRead, buffer } = await this.#try(() =>
          handle.read(Buffer.allocUnsafe(size), 0, size, position),
        )
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
        position += bytesRead
      }
    } finally {
      await handle.close()
    }
  }

  /** Removes a file of this folder. Resolves with whether it existed. */
  async remove(path: string): Promise<boolean> {
    if (!(await this.#isInside(path))) return false
    return this.#try(async () => {
      const found = await lstat(path).catch(orAbsent)
      if (!found?.isFile()) return false
      await rm(path, { force: true })
      return true
    })
  }

  /** Removes a folder if it is empty. */
  async removeFolder(path: string): Promise<void> {
    await rmdir(path).catch(() => {})
  }

  async #open(path: string): Promise<FileHandle | undefined> {
    if (!(await this.#isInside(path))) return undefined
    const handle = await this.#try(() => open(path, READ_ONLY).catch(orAbsent))
    if (handle === undefined) return undefined
    try {
      // Checked again with the open file: a parent folder may have been replaced by a link.
      const isOurs = (await handle.stat()).isFile() && (await this.#isInside(path))
      if (isOurs) return handle
    } catch (error) {
      await handle.close()
      throw unavailable(this.#channel, error)
    }
    await handle.close()
    return undefined
  }

  /** Whether the path is below the root and contains no dots and no links. */
  async #isInside(path: string): Promise<boolean> {
    const root = await this.root()
    if (path.includes('\0') || resolve(path) !== path || !path.startsWith(root + sep)) return false
    const folder = dirname(path)
    return (await this.#try(() => realpath(folder).catch(orAbsent))) === folder
  }

  #try<T>(action: () => Promise<T>): Promise<T> {
    return orUnavailable(this.#channel, action())
  }
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await handle.write(chunk, written)).bytesWritten
  }
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function clearAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(orAbsent)
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true })
  }
}

const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EISDIR']

function orAbsent(error: unknown): undefined {
  if (ABSENT.includes(codeOf(error) ?? '')) return undefined
  throw error
}
