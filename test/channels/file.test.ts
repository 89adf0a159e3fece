import { execFileSync } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Channel } from '../../src/channels/channel.ts'
import { fileChannel } from '../../src/channels/file.ts'
import { collect } from '../../src/channels/payload.ts'
import { refusal } from '../support/steps.ts'
import { OTHER_TASK, pieces, TASK } from './conformance.ts'
import { emptyFolder, type Folder } from './folder.ts'

let folder: Folder
let outside: Folder
let channel: Channel
beforeEach(() => {
  folder = emptyFolder()
  outside = emptyFolder()
  channel = fileChannel({ folder: folder.path })
  writeFileSync(join(outside.path, 'secret.txt'), 'secret')
})
afterEach(() => {
  folder.remove()
  outside.remove()
})

const read = async (pointer: string, taskId?: string) =>
  (await collect((await channel.get(pointer, { taskId })).read())).toString()

const pathOf = (pointer: string) => pointer.slice('file:'.length)

const NOT_FOUND = { code: 'RESULT_NOT_FOUND' }

describe('results in files', () => {
  it('the pointer is a path in the folder of the task, with a known file extension', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    expect(dirname(pathOf(pointer))).toBe(join(folder.path, TASK))
    expect(pointer).toMatch(/\.json$/)
    expect(
      (await channel.put(TASK, pieces('x'), { media_type: 'Text/Plain; charset=utf-8' })).pointer,
    ).toMatch(/\.txt$/)
    expect((await channel.put(TASK, pieces('x'), { media_type: 'constructor' })).pointer).toMatch(/-\w+$/)
  })

  it('the file is readable by its owner only', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    expect(statSync(pathOf(pointer)).mode & 0o077).toBe(0)
  })

  it('the file is not visible before it is complete', async () => {
    const seen: string[][] = []
    const watching = async function* () {
      yield Buffer.from('first')
      seen.push(folder.files())
      yield Buffer.from('second')
    }
    const { pointer } = await channel.put(TASK, watching())
    expect(seen).toEqual([[expect.stringMatching(/^\.partial\//)]])
    expect(folder.files()).toEqual([pathOf(pointer).slice(folder.path.length + 1)])
  })

  it('ack removes the file and then its empty folder', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    const { pointer: other } = await channel.put(TASK, { a: 1 })
    await channel.ack(pointer, { taskId: TASK })
    expect(await read(other, TASK)).toBe('{"a":1}')
    await channel.ack(other, { taskId: TASK })
    expect(() => statSync(join(folder.path, TASK))).toThrow()
  })

  it('partial files of a dead process are removed after a day', async () => {
    const partial = join(folder.path, '.partial')
    mkdirSync(partial)
    for (const name of ['old', 'new']) writeFileSync(join(partial, name), 'half')
    const yesterday = Date.now() / 1000 - 25 * 3600
    utimesSync(join(partial, 'old'), yesterday, yesterday)
    await channel.put(TASK, { a: 1 })
    expect(folder.files().filter((name) => name.startsWith('.partial'))).toEqual(['.partial/new'])
  })
})

describe('pointers that lead out of the folder', () => {
  it.each([
    ['another folder', () => `file:${outside.path}/secret.txt`],
    ['a path with dots', () => `file:${folder.path}/../${outside.path.split('/').at(-1)}/secret.txt`],
    [
      'a path with dots in the folder of the task',
      () => `file:${folder.path}/${TASK}/../../${outside.path.split('/').at(-1)}/secret.txt`,
    ],
    ['a path with double slashes', () => `file:${folder.path}//${TASK}/x`],
    ['a relative path', () => 'file:secret.txt'],
    ['a folder with the same prefix', () => `file:${folder.path}-other/secret.txt`],
    ['the folder itself', () => `file:${folder.path}`],
    ['a folder', () => `file:${folder.path}/${TASK}`],
    ['a path with a NUL', () => `file:${folder.path}/${TASK}/x\0y`],
    ['a name that is too long', () => `file:${folder.path}/${TASK}/${'x'.repeat(5000)}`],
    ['a device', () => 'file:/dev/zero'],
  ])('a pointer to %s is not found', async (_, pointer) => {
    await channel.put(TASK, { a: 1 })
    expect(await refusal(read(pointer()))).toMatchObject(NOT_FOUND)
    expect(await refusal(read(pointer(), TASK))).toMatchObject(NOT_FOUND)
    await channel.ack(pointer())
    expect(outside.files()).toEqual(['secret.txt'])
  })

  it('a symlink in place of the file is not followed', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    rmSync(pathOf(pointer))
    symlinkSync(join(outside.path, 'secret.txt'), pathOf(pointer))
    expect(await refusal(read(pointer, TASK))).toMatchObject(NOT_FOUND)
    await channel.ack(pointer, { taskId: TASK })
    expect(outside.files()).toEqual(['secret.txt'])
  })

  it('a symlink in place of a parent folder is not followed', async () => {
    symlinkSync(outside.path, join(folder.path, OTHER_TASK))
    const pointer = `file:${folder.path}/${OTHER_TASK}/secret.txt`
    expect(await refusal(read(pointer, OTHER_TASK))).toMatchObject(NOT_FOUND)
    await channel.ack(pointer, { taskId: OTHER_TASK })
    expect(outside.files()).toEqual(['secret.txt'])
    expect(await refusal(channel.put(OTHER_TASK, { a: 1 }))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    expect(outside.files()).toEqual(['secret.txt'])
    expect(folder.files()).toEqual([join(OTHER_TASK, 'secret.txt')])
  })

  it('a folder that becomes a symlink between get and read is not followed', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    const name = pathOf(pointer).split('/').at(-1) ?? ''
    linkSync(join(outside.path, 'secret.txt'), join(outside.path, name))
    const { read: readNow } = await channel.get(pointer, { taskId: TASK })
    renameSync(join(folder.path, TASK), join(folder.path, 'aside'))
    symlinkSync(outside.path, join(folder.path, TASK))
    expect(await refusal(collect(readNow()))).toMatchObject(NOT_FOUND)
  })

  it('a pipe in place of the file does not block', async () => {
    const { pointer } = await channel.put(TASK, { a: 1 })
    rmSync(pathOf(pointer))
    execFileSync('mkfifo', [pathOf(pointer)])
    expect(await refusal(read(pointer, TASK))).toMatchObject(NOT_FOUND)
  })
})

describe('failing disks', () => {
  it('a failing disk is reported as CHANNEL_UNAVAILABLE, with the cause for the operator only', async () => {
    writeFileSync(join(folder.path, 'file'), '')
    const failing = fileChannel({ folder: join(folder.path, 'file') })
    const fault = await failing.put(TASK, { a: 1 }).catch((error) => error)
    expect(fault.toJSON()).toMatchObject({ code: 'CHANNEL_UNAVAILABLE', details: { channel: 'file' } })
    expect(JSON.stringify(fault)).not.toContain(folder.path)
    expect(fault.cause).toMatchObject({ code: 'ENOTDIR' })
  })

  it('a missing folder is used as soon as it can be created', async () => {
    const path = join(folder.path, 'mount')
    writeFileSync(path, '')
    const failing = fileChannel({ folder: path })
    expect(await refusal(failing.put(TASK, { a: 1 }))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    rmSync(path)
    expect(await failing.put(TASK, { a: 1 })).toMatchObject({ size: 7 })
  })
})
