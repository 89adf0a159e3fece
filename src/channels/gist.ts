import { Fault } from '../core/errors.ts'
import { EgressError } from '../egress/error.ts'
import { type Channel, capable } from './channel.ts'
import { GistApi, type GistApiOptions, type GistFile } from './gist-api.ts'
import { collect, Meter, once, slice, sourceOf } from './payload.ts'
import { checkTaskId, dataOf, notFound, unavailable } from './pointer.ts'

export interface GistOptions extends GistApiOptions {
  /** Whether gists are listed publicly. Secret gists can be read by anyone who has the URL. */
  readonly isPublic?: boolean | undefined
}

/** The API does not return larger files. */
const MAX_FILE_BYTES = 10_000_000

/** The file is named after its task, so that a pointer to a gist of another task is not found. */
const POINTER = /^([A-Za-z0-9]{1,64})\/(([A-Za-z0-9][A-Za-z0-9_-]{0,127})\.(json|txt|base64))$/

/** Results as gists with one file: `gist:ID/TASK_ID.EXTENSION`. */
export function gistChannel(options: GistOptions): Channel {
  const name = 'gist'
  const api = new GistApi(options)

  /** Callers see only that the channel is unavailable; the operator sees the cause. */
  const run = async <T>(done: Promise<T>): Promise<T> => {
    try {
      return await done
    } catch (error) {
      if (error instanceof EgressError && error.code === 'TOO_LARGE') throw new Fault('PAYLOAD_TOO_LARGE')
      throw unavailable(name, error)
    }
  }

  const find = async (pointer: string, taskId: string | undefined) => {
    const [, id = '', filename = '', task] = POINTER.exec(dataOf(pointer, name)) ?? []
    if (id === '' || (taskId !== undefined && task !== checkTaskId(taskId))) throw notFound(pointer)
    return { id, filename, file: await run(api.file(id, filename)) }
  }

  return {
    name,
    async put(taskId, payload, about) {
      checkTaskId(taskId)
      const { content, media_type } = sourceOf(payload, about)
      const meter = new Meter(MAX_FILE_BYTES)
      const bytes = await collect(meter.measure(content))
      const file = fileOf(bytes, media_type)
      if (file.size > MAX_FILE_BYTES) throw new Fault('PAYLOAD_TOO_LARGE', { limit_bytes: MAX_BINARY_BYTES })
      const filename = `${taskId}.${file.extension}`
      const description = `AsyncGate: result of task ${taskId}`
      const id = await run(api.create(filename, file.content, description, options.isPublic ?? false))
      const pointer = `${name}:${id}/${filename}`
      return { pointer, channel: name, ...meter.result(), media_type }
    },
    async get(pointer, { taskId } = {}) {
      const { filename, file } = await find(pointer, taskId)
      if (file === undefined) throw notFound(pointer)
      const bytes = bytesOf(filename, await run(textOf(api, file)))
      if (bytes === undefined) throw new Fault('RESULT_CORRUPT')
      return { size: bytes.length, read: (part) => slice(once(bytes), part) }
    },
    async ack(pointer, { taskId } = {}) {
      const { id, file } = await find(pointer, taskId)
      // A gist without this file may be any other gist of the account.
      if (file !== undefined) await run(api.remove(id))
    },
    capabilities: capable({ max_size_bytes: MAX_FILE_BYTES, human_readable: true }),
  }
}

async function textOf(api: GistApi, file: GistFile): Promise<string> {
  const { content, truncated } = file
  return truncated || content === undefined ? api.raw(file, MAX_FILE_BYTES) : content
}

/** A gist stores only text that is not blank. Anything else is written as a data URL. */
const DATA_URL = /^data:[^,]*;base64,/
const MAX_BINARY_BYTES = Math.floor(((MAX_FILE_BYTES - 1000) * 3) / 4)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function fileOf(bytes: Buffer, mediaType: string) {
  const text = plainText(bytes)
  if (text !== undefined) {
    return { content: text, size: bytes.length, extension: /\bjson$/.test(mediaType) ? 'json' : 'txt' }
  }
  const content = `data:${mediaType.replace(/[^!-~]|,/g, '').slice(0, 255)};base64,${bytes.toString('base64')}`
  return { content, size: content.length, extension: 'base64' }
}

/** Undefined for binary data and for text that GitHub might alter: line ends and invisible characters. */
function plainText(bytes: Buffer): string | undefined {
  try {
    const text = utf8.decode(bytes)
    return text.trim() === '' || /(?![\n\t])\p{Cc}|\uFEFF/u.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

function bytesOf(filename: string, text: string): Buffer | undefined {
  if (!filename.endsWith('.base64')) return Buffer.from(text)
  const [prefix] = DATA_URL.exec(text) ?? []
  return prefix === undefined ? undefined : Buffer.from(text.slice(prefix.length), 'base64')
}
