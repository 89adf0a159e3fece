import { randomUUID } from 'node:crypto'
import { dirname, join, sep } from 'node:path'
import { type Channel, capable } from './channel.ts'
import { Disk } from './disk.ts'
import { JSON_TYPE, sourceOf } from './payload.ts'
import { checkTaskId, dataOf, notFound } from './pointer.ts'

export interface FileOptions {
  /** Contains a folder per task. */
  readonly folder: string
}

/** One file per result: `file:FOLDER/TASK_ID/NAME`. */
export function fileChannel({ folder }: FileOptions): Channel {
  const name = 'file'
  const disk = new Disk(name, folder)

  /** The path, if it belongs to the task. */
  const pathOf = async (pointer: string, taskId: string | undefined): Promise<string> => {
    const path = dataOf(pointer, name)
    if (taskId === undefined) return path
    const home = join(await disk.root(), checkTaskId(taskId)) + sep
    if (!path.startsWith(home)) throw notFound(pointer)
    return path
  }

  return {
    name,
    async put(taskId, payload, options) {
      const home = join(await disk.root(), checkTaskId(taskId))
      const { content, media_type } = sourceOf(payload, options)
      const { path, checksum, size } = await disk.write(content, async () => {
        await disk.makeFolder(home)
        return join(home, `${randomUUID()}${extensionOf(media_type)}`)
      })
      return { pointer: `${name}:${path}`, channel: name, checksum, size, media_type }
    },
    async get(pointer, { taskId } = {}) {
      const path = await pathOf(pointer, taskId)
      const size = await disk.sizeOf(path)
      if (size === undefined) throw notFound(pointer)
      return { size, read: (part) => disk.read(path, part, () => notFound(pointer)) }
    },
    async ack(pointer, { taskId } = {}) {
      const path = await pathOf(pointer, taskId)
      if (await disk.remove(path)) await disk.removeFolder(dirname(path))
    },
    capabilities: capable({ supports_streaming: true, human_readable: true }),
  }
}

const EXTENSIONS = new Map([
  [JSON_TYPE, '.json'],
  ['text/plain', '.txt'],
  ['text/csv', '.csv'],
  ['text/html', '.html'],
  ['application/pdf', '.pdf'],
])

function extensionOf(mediaType: string): string {
  const [type = ''] = mediaType.split(';')
  return EXTENSIONS.get(type.trim().toLowerCase()) ?? ''
}
