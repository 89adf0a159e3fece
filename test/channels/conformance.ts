import { hash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Channel } from '../../src/channels/channel.ts'
import { collect } from '../../src/channels/payload.ts'
import { canonical } from '../../src/core/json/json.ts'
import { refusal } from '../support/steps.ts'

export const TASK = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'
export const OTHER_TASK = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4d'

export interface OpenChannel {
  readonly channel: Channel
  /** The number of stored objects, if the channel stores any. */
  stored?(): Promise<number>
  close?(): Promise<void>
}

export interface Traits {
  /** The channel stores nothing: the pointer contains the payload. */
  readonly storesNothing?: boolean
  /** The size is known only after reading everything. */
  readonly unknownSize?: boolean
}

/** The tests that every channel must pass. */
export function describeChannel(name: string, open: () => Promise<OpenChannel>, traits: Traits = {}): void {
  describe(`the channel ${name}`, () => {
    let opened: OpenChannel
    let channel: Channel
    beforeAll(async () => {
      opened = await open()
      channel = opened.channel
    })
    afterAll(() => opened.close?.())
    const left: string[] = []
    const put = async (...[taskId, payload, options]: Parameters<Channel['put']>) => {
      const stored = await channel.put(taskId, payload, options)
      if (taskId === TASK) left.push(stored.pointer)
      return stored
    }
    afterEach(async () => {
      for (const pointer of left.splice(0)) await channel.ack(pointer, { taskId: TASK })
      expect(await opened.stored?.()).toBe(opened.stored && 0)
    })

    const content = async (pointer: string, part?: { offset: number; length: number }) =>
      collect((await channel.get(pointer, { taskId: TASK })).read(part))

    it('the stored bytes can be read repeatedly', async () => {
      const bytes = Buffer.from([0, 255, 1, 254, 10, 13, 0])
      const stored = await put(TASK, bytes)
      expect(stored).toEqual({
        pointer: expect.stringMatching(new RegExp(`^${name}:.`)),
        channel: name,
        checksum: hash('sha256', bytes),
        size: 7,
        media_type: 'application/octet-stream',
      })
      for (let i = 0; i < 2; i++) expect(await content(stored.pointer)).toEqual(bytes)
      const { size } = await channel.get(stored.pointer)
      expect(size).toBe(traits.unknownSize ? undefined : 7)
    })

    it('a JSON value is stored as its canonical text', async () => {
      const value = { b: ['é', null, 1.5], a: 'text' }
      const { pointer, media_type, checksum } = await put(TASK, value)
      expect(media_type).toBe('application/json')
      expect((await content(pointer)).toString()).toBe(canonical(value))
      expect(checksum).toBe(hash('sha256', canonical(value)))
      expect((await content((await put(TASK, 'only text')).pointer)).toString()).toBe('"only text"')
    })

    it('a stream of unknown length is accepted', async () => {
      const { pointer, size, media_type } = await put(TASK, pieces('ab', '', 'cde'), {
        media_type: 'text/plain',
      })
      expect({ size, media_type }).toEqual({ size: 5, media_type: 'text/plain' })
      expect((await content(pointer)).toString()).toBe('abcde')
    })

    it('an empty payload is accepted', async () => {
      const { pointer, size, checksum } = await put(TASK, Buffer.alloc(0))
      expect({ size, checksum }).toEqual({ size: 0, checksum: hash('sha256', '') })
      expect(await content(pointer)).toEqual(Buffer.alloc(0))
    })

    it('a range can be read', async () => {
      const { pointer } = await put(TASK, Buffer.from('0123456789'))
      const text = async (offset: number, length: number) =>
        (await content(pointer, { offset, length })).toString()
      expect(await text(0, 3)).toBe('012')
      expect(await text(3, 4)).toBe('3456')
      expect(await text(8, 100)).toBe('89')
      expect(await text(8, Number.POSITIVE_INFINITY)).toBe('89')
      expect(await text(10, 5)).toBe('')
      expect(await text(99, 5)).toBe('')
    })

    it('a failed put leaves nothing behind and throws the cause', async () => {
      const failing = async function* () {
        yield Buffer.from('some')
        throw new Error('the source broke')
      }
      await expect(put(TASK, failing())).rejects.toThrow('the source broke')
    })

    it('a value that is not JSON is refused', async () => {
      const untyped = JSON.parse('{}')
      untyped.when = new Date()
      expect(await refusal(put(TASK, untyped))).toMatchObject({ code: 'VALIDATION_ERROR' })
    })

    it('pointers of other channels are not found', async () => {
      for (const pointer of [`${name}:§`, 'other:x', name, '']) {
        expect(
          await refusal(channel.get(pointer).then(({ read }) => collect(read()))),
          pointer,
        ).toMatchObject({
          code: 'RESULT_NOT_FOUND',
        })
      }
    })

    it('the capabilities have all fields', () => {
      expect(Object.keys(channel.capabilities()).toSorted()).toEqual([
        'human_readable',
        'max_size_bytes',
        'retention_days',
        'supports_attachments',
        'supports_streaming',
      ])
    })

    it.skipIf(traits.storesNothing)('a pointer of another task is not found', async () => {
      const { pointer } = await put(TASK, Buffer.from('secret'))
      const asked = channel.get(pointer, { taskId: OTHER_TASK }).then(({ read }) => collect(read()))
      expect(await refusal(asked)).toMatchObject({ code: 'RESULT_NOT_FOUND' })
      await channel.ack(pointer, { taskId: OTHER_TASK }).catch(() => {})
      expect((await content(pointer)).toString()).toBe('secret')
    })

    it.skipIf(traits.storesNothing)('ack removes the payload and can be repeated', async () => {
      const { pointer } = await put(TASK, Buffer.from('done'))
      await channel.ack(pointer, { taskId: TASK })
      await channel.ack(pointer, { taskId: TASK })
      expect(await refusal(content(pointer))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
    })

    it.skipIf(traits.storesNothing)('a task id that is a path is refused', async () => {
      for (const taskId of ['..', '.', 'a/b', '', '../x', 'a\0b', '/etc']) {
        expect(await refusal(channel.put(taskId, Buffer.from('x'))), taskId).toMatchObject({
          code: 'VALIDATION_ERROR',
        })
      }
    })
  })
}

export async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}
