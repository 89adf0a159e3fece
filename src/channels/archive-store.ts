import { dirname, join } from 'node:path'
import type { ArchiveStore } from '../features/retention/port.ts'
import { Disk } from './disk.ts'
import { collect } from './payload.ts'
import { notFound } from './pointer.ts'
import { openObjects, type S3Options } from './s3.ts'

const CHANNEL = 'archive'
const TYPE = 'application/gzip'

/** Archives in a folder: `AB/ABCDEF….jsonl.gz`. A file is complete and durable before it has its name. */
export function diskArchive(folder: string): ArchiveStore {
  const disk = new Disk(CHANNEL, folder)
  const pathOf = async (file: string) => join(await disk.root(), file.slice(0, 2), nameOf(file))
  return {
    kind: 'disk',
    async put(file, content) {
      const path = await pathOf(file)
      await disk.makeFolder(dirname(path))
      await disk.write(chunks(content), async () => path)
    },
    async get(file) {
      const path = await pathOf(file)
      if ((await disk.sizeOf(path)) === undefined) return undefined
      return collect(disk.read(path, undefined, () => notFound(file)))
    },
    async remove(file) {
      const path = await pathOf(file)
      await disk.remove(path)
      await disk.removeFolder(dirname(path))
    },
  }
}

/** Archives in a bucket. */
export function s3Archive(options: S3Options): ArchiveStore {
  const objects = openObjects(options)
  const keyOf = (file: string) => `${options.prefix ?? ''}${nameOf(file)}`
  return {
    kind: 's3',
    async put(file, content) {
      await objects.upload(keyOf(file), chunks(content), TYPE)
    },
    async get(file) {
      const content = await objects.download(keyOf(file))
      return content && collect(content)
    },
    remove: (file) => objects.remove(keyOf(file)),
  }
}

function nameOf(file: string): string {
  return `${file}.jsonl.gz`
}

async function* chunks(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}
