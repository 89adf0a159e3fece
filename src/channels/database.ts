import { randomUUID } from 'node:crypto'
import type { Entries, Entry } from '../store/entries.ts'
import { type Channel, capable } from './channel.ts'
import { Meter, slice, sourceOf, WHOLE } from './payload.ts'
import { checkTaskId, dataOf, notFound, orUnavailable, unavailable } from './pointer.ts'

export interface DatabaseOptions {
  readonly entries: Entries
  /** The tenant whose entries hold the results. */
  readonly tenant: number
  readonly maxBytes?: number | undefined
  readonly now?: (() => number) | undefined
}

/** Larger results belong in file storage. */
const MAX_BYTES = 256 * 1024 * 1024

/** A chunk is one entry, and the amount that a read or write holds in memory. */
const CHUNK_BYTES = 1024 * 1024

/** After this time, an incomplete result belongs to a process that has died. */
const WRITE_MS = 24 * 3600 * 1000

const HEAD = 'database_result'
const CHUNK = 'database_result_chunk'
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

interface Head {
  readonly task_id: string
  readonly size: number
  readonly chunks: number
  readonly is_whole: boolean
}

/** Results in the database of the server, in chunks: `database:ID`. All servers of the database can read them. */
export function databaseChannel(options: DatabaseOptions): Channel {
  const { entries, tenant, maxBytes = MAX_BYTES, now = Date.now } = options
  const name = 'database'

  const run = <T>(done: Promise<T>) => orUnavailable(name, done)
  const chunkName = (id: string, n: number) => `${id}/${String(n).padStart(6, '0')}`

  const writeHead = (id: string, head: Head, version: number, due_at: number | null) =>
    entries.put({ tenant, kind: HEAD, name: id, value: JSON.stringify(head), due_at }, version)

  const writeChunk = (id: string, n: number, bytes: Buffer) => {
    const value = bytes.toString('base64')
    return entries.put({ tenant, kind: CHUNK, name: chunkName(id, n), value, due_at: null }, 0)
  }

  /** Removes the head last, so that an interrupted removal can be repeated. There may be more chunks than the head counts. */
  const remove = async (id: string) => {
    for (;;) {
      const found = await entries.list(tenant, CHUNK, `${id}/`, 1)
      const chunk = found[0]
      if (chunk === undefined || !chunk.name.startsWith(`${id}/`)) break
      await entries.remove(tenant, CHUNK, chunk.name)
    }
    await entries.remove(tenant, HEAD, id)
  }

  /** Removes the incomplete results of processes that died. */
  const tidy = async () => {
    for (const { name: id } of await entries.due(tenant, HEAD, now(), 10)) await remove(id)
  }

  const find = async (pointer: string, taskId: string | undefined): Promise<{ id: string; head: Head }> => {
    const id = dataOf(pointer, name)
    const entry = ID.test(id) ? await run(entries.get(tenant, HEAD, id)) : undefined
    const head = entry && headIn(entry)
    if (head?.is_whole !== true || (taskId !== undefined && head.task_id !== taskId)) throw notFound(pointer)
    return { id, head }
  }

  async function* read(pointer: string, id: string, { chunks }: Head, first: number) {
    for (let n = first; n < chunks; n++) {
      const chunk = await run(entries.get(tenant, CHUNK, chunkName(id, n)))
      if (chunk === undefined) throw notFound(pointer)
      yield Buffer.from(chunk.value, 'base64')
    }
  }

  return {
    name,
    async put(taskId, payload, given) {
      const id = randomUUID()
      const { content, media_type } = sourceOf(payload, given)
      const meter = new Meter(maxBytes)
      const begun: Head = { task_id: checkTaskId(taskId), size: 0, chunks: 0, is_whole: false }
      await run(tidy())
      await run(writeHead(id, begun, 0, now() + WRITE_MS))
      try {
        let chunks = 0
        for await (const chunk of inChunks(meter.measure(content))) await run(writeChunk(id, chunks++, chunk))
        const whole: Head = { ...begun, size: meter.size, chunks, is_whole: true }
        const written = await run(writeHead(id, whole, 1, null))
        if (written === undefined) throw unavailable(name, new Error('the result was removed meanwhile'))
      } catch (error) {
        await run(remove(id))
        throw error
      }
      return { pointer: `${name}:${id}`, channel: name, ...meter.result(), media_type }
    },
    async get(pointer, { taskId } = {}) {
      const { id, head } = await find(pointer, taskId)
      return {
        size: head.size,
        read(part = WHOLE) {
          const first = Math.floor(part.offset / CHUNK_BYTES)
          const offset = part.offset - first * CHUNK_BYTES
          return slice(read(pointer, id, head, first), { offset, length: part.length })
        },
      }
    },
    async ack(pointer, { taskId } = {}) {
      const id = dataOf(pointer, name)
      const entry = ID.test(id) ? await run(entries.get(tenant, HEAD, id)) : undefined
      if (entry === undefined) return
      if (taskId !== undefined && headIn(entry).task_id !== taskId) return
      await run(remove(id))
    },
    capabilities: capable({ max_size_bytes: maxBytes, supports_streaming: true }),
  }
}

function headIn({ value }: Entry): Head {
  return JSON.parse(value)
}

/** Splits content into chunks of one size; only the last one is shorter. */
async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending: Uint8Array[] = []
  let size = 0
  for await (const piece of content) {
    let rest = piece
    while (size + rest.length >= CHUNK_BYTES) {
      const taken = CHUNK_BYTES - size
      yield Buffer.concat([...pending, rest.subarray(0, taken)])
      rest = rest.subarray(taken)
      pending = []
      size = 0
    }
    if (rest.length > 0) pending.push(Uint8Array.from(rest))
    size += rest.length
  }
  if (size > 0) yield Buffer.concat(pending)
}
