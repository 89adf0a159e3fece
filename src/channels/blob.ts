import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { BlobReferences } from './blob-references.ts'
import { type Channel, capable } from './channel.ts'
import { Disk } from './disk.ts'
import { sourceOf } from './payload.ts'
import { checkTaskId, codeOf, dataOf, notFound, orUnavailable } from './pointer.ts'

export interface BlobOptions {
  readonly folder: string
  /** The name of the store in its pointers; by default a random one, which is stored in the folder. */
  readonly storeId?: string | undefined
}

const RETRIES = 4

const DATA = /^([A-Za-z0-9_-]{1,64})\/([0-9a-f]{64})$/

/**
 * Content-addressed files: `blob:STORE/SHA256`. Equal payloads share a file, which is deleted when the last task that uses
 * it has acknowledged it.
 */
export function blobChannel({ folder, storeId }: BlobOptions): Channel {
  const name = 'blob'
  const disk = new Disk(name, folder)
  let known = storeId === undefined ? undefined : Promise.resolve(storeId)

  const idOfStore = async (): Promise<string> => {
    const root = await disk.root()
    known ??= orUnavailable(name, idIn(root)).catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }

  const pathOf = async (checksum: string) => join(await disk.root(), checksum.slice(0, 2), checksum)

  const find = async (pointer: string): Promise<string> => {
    const [, store, checksum = ''] = DATA.exec(dataOf(pointer, name)) ?? []
    if (store === undefined || store !== (await idOfStore())) throw notFound(pointer)
    return pathOf(checksum)
  }

  return {
    name,
    async put(taskId, payload, options = {}) {
      checkTaskId(taskId)
      const reference = checkTaskId(options.reference ?? randomUUID())
      const store = await idOfStore()
      const { content, media_type } = sourceOf(payload, options)
      const { checksum, size } = await disk.write(content, async (written) => {
        const path = await pathOf(written.checksum)
        await disk.makeFolder(dirname(path))
        await orUnavailable(name, new BlobReferences(path).add(taskId, reference))
        return path
      })
      return { pointer: `${name}:${store}/${checksum}`, channel: name, checksum, size, media_type }
    },
    async get(pointer, { taskId } = {}) {
      const path = await find(pointer)
      const references = new BlobReferences(path)
      const isUsed = taskId === undefined || (await references.has(checkTaskId(taskId)))
      let size = isUsed ? await disk.sizeOf(path) : undefined
      for (let n = 0; size === undefined && isUsed && n < RETRIES; n++) {
        // A concurrent removal may have renamed it for a moment.
        await delay(1 + n)
        size = await disk.sizeOf(path)
      }
      if (size === undefined) throw notFound(pointer)
      return { size, read: (part) => disk.read(path, part, () => notFound(pointer)) }
    },
    async ack(pointer, { taskId, reference } = {}) {
      const references = new BlobReferences(await find(pointer))
      if (taskId !== undefined) {
        await orUnavailable(name, references.remove(checkTaskId(taskId), reference))
      }
      await orUnavailable(name, references.collect())
    },
    capabilities: capable({ supports_streaming: true }),
  }
}

/** If several processes open a new folder concurrently, the first one that creates the link names the store. */
async function idIn(root: string): Promise<string> {
  const path = join(root, 'store-id')
  const draft = join(root, `.partial/${randomUUID()}`)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  await writeFile(draft, randomUUID().slice(0, 8), { flush: true })
  try {
    await link(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}
