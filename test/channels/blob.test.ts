import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blobChannel } from '../../src/channels/blob.ts'
import type { Channel } from '../../src/channels/channel.ts'
import { collect } from '../../src/channels/payload.ts'
import { refusal } from '../support/steps.ts'
import { OTHER_TASK, TASK } from './conformance.ts'
import { emptyFolder, type Folder } from './folder.ts'

let folder: Folder
let channel: Channel
beforeEach(() => {
  folder = emptyFolder()
  channel = blobChannel({ folder: folder.path })
})
afterEach(() => folder.remove())

const blobs = () => folder.files().filter((name) => !name.includes('.refs'))
const read = async (pointer: string, taskId?: string, from = channel) =>
  (await collect((await from.get(pointer, { taskId })).read())).toString()

describe('blobs', () => {
  it('the pointer names the store and the checksum of the content', async () => {
    const { pointer, checksum } = await channel.put(TASK, { a: 1 })
    const store = readFileSync(join(folder.path, 'store-id'), 'utf8')
    expect(pointer).toBe(`blob:${store}/${checksum}`)
    expect(blobs()).toEqual([join(checksum.slice(0, 2), checksum)])
  })

  it('the same bytes are stored once and removed with the last reference', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    expect((await channel.put(OTHER_TASK, { a: 1 })).pointer).toBe(pointer)
    expect((await channel.put(TASK, { a: 1 })).pointer).toBe(pointer)
    expect(blobs()).toHaveLength(1)
    await channel.ack(pointer, { taskId: TASK })
    expect(await refusal(read(pointer, TASK))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    expect(await read(pointer, OTHER_TASK)).toBe('{"a":1}')
    await channel.ack(pointer)
    expect(await read(pointer, OTHER_TASK)).toBe('{"a":1}')
    await channel.ack(pointer, { taskId: OTHER_TASK })
    expect(folder.files()).toEqual([])
  })

  it('a blob is kept until all references of its task are removed', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 }, { reference: 'first' })
    await channel.put(TASK, { a: 1 }, { reference: 'second' })
    await channel.ack(pointer, { taskId: TASK, reference: 'first' })
    expect(await read(pointer, TASK)).toBe('{"a":1}')
    await channel.ack(pointer, { taskId: TASK, reference: 'second' })
    expect(folder.files()).toEqual([])
  })

  it('putting the same bytes again repairs a damaged blob', async () => {
    const { pointer, checksum } = await channel.put(TASK, { a: 1 })
    writeFileSync(join(folder.path, checksum.slice(0, 2), checksum), '{"a":2}')
    await channel.put(OTHER_TASK, { a: 1 })
    expect(await read(pointer)).toBe('{"a":1}')
  })

  it('concurrent puts and acknowledgements never lose a blob', async () => {
    // Two channels, as in two processes on one folder.
    const other = blobChannel({ folder: folder.path })
    const { pointer } = await channel.put('holder-0', { a: 1 })
    await channel.ack(pointer, { taskId: 'holder-0' })
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const taskId = `task-${n}`
        const [writer, reader] = n % 2 === 0 ? [channel, other] : [other, channel]
        for (let i = 0; i < 40; i++) {
          await writer.put(taskId, { a: 1 })
          const { size } = await reader.get(pointer, { taskId })
          expect(size).toBe(7)
          await reader.ack(pointer, { taskId })
        }
      }),
    )
    expect(folder.files()).toEqual([])
  })

  it('a blob of another store is not found', async () => {
    const { pointer, checksum } = await channel.put(TASK, { a: 1 })
    expect(await refusal(read(`blob:elsewhere/${checksum}`))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    for (const data of ['', '/', '../../etc/passwd', `x/${'0'.repeat(63)}`, `${pointer.slice(5)}/x`]) {
      expect(await refusal(read(`blob:${data}`)), data).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    }
  })
})

describe('store id of blobs', () => {
  it('all processes that open the folder use the same store id, concurrently or later', async () => {
    const channels = Array.from({ length: 8 }, () => blobChannel({ folder: folder.path }))
    const stored = await Promise.all(channels.map((each) => each.put(TASK, { a: 1 })))
    expect(new Set(stored.map(({ pointer }) => pointer)).size).toBe(1)
    expect(await read(stored[0]?.pointer ?? '', TASK, blobChannel({ folder: folder.path }))).toBe('{"a":1}')
  })
})
