import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { databaseChannel } from '../../src/channels/database.ts'
import { collect } from '../../src/channels/payload.ts'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { agent, describeGates } from '../support/gates.ts'
import { finish, hold, refusal } from '../support/steps.ts'
import { describeChannel, OTHER_TASK, TASK } from './conformance.ts'
import { resultsOnDisk } from './store-on-disk.ts'

const MIB = 1024 * 1024
const ENTRIES = ['database_result', 'database_result_chunk']

/** The number of entries of the channel in a store. */
async function stored(store: Store): Promise<number> {
  const { tenant } = await store.tenant('default')
  const found = await Promise.all(ENTRIES.map((kind) => store.entries.list(tenant, kind, '', 1000)))
  return found.flat().length
}

async function channelOn(store: Store, options: { maxBytes?: number; now?: () => number } = {}) {
  const { tenant } = await store.tenant('default')
  return databaseChannel({ entries: store.entries, tenant, ...options })
}

describeChannel('database', async () => {
  const store = await openSqliteStore({ path: ':memory:' })
  return {
    channel: await channelOn(store),
    stored: () => stored(store),
    close: () => store.close(),
  }
})

describeGates(
  'results in the database',
  (open) => {
    it('every server reads the result completely and in ranges', async () => {
      const first = await open()
      const second = await first.another()
      const bytes = randomBytes(2 * MIB + 12_345)
      const { pointer, size } = await (await channelOn(first.store)).put(TASK, bytes)
      expect(size).toBe(bytes.length)
      const { read } = await (await channelOn(second.store)).get(pointer, { taskId: TASK })
      expect((await collect(read())).equals(bytes)).toBe(true)
      for (const [offset, length] of [
        [0, 10],
        [MIB - 5, 10],
        [MIB, MIB],
        [2 * MIB + 12_344, 10],
        [3 * MIB, 10],
      ] as const) {
        const part = await collect(read({ offset, length }))
        expect(part.equals(bytes.subarray(offset, offset + length))).toBe(true)
      }
      expect(
        await refusal((await channelOn(second.store)).get(pointer, { taskId: OTHER_TASK })),
      ).toMatchObject({
        code: 'RESULT_NOT_FOUND',
      })
      await (await channelOn(second.store)).ack(pointer, { taskId: TASK })
      expect(await stored(first.store)).toBe(0)
    })

    it('a partial result is not visible, and the remains of a dead process are removed', async () => {
      const { store } = await open()
      const small = await channelOn(store, { maxBytes: MIB })
      expect(await refusal(small.put(TASK, Buffer.alloc(MIB + 1)))).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      })
      expect(await stored(store)).toBe(0)
      // The process dies between two chunks, so its cleanup does not reach the database.
      const dying = { ...store.entries, remove: () => Promise.reject(new Error('dead')) }
      const { tenant } = await store.tenant('default')
      const put = databaseChannel({ entries: dying, tenant }).put(TASK, cutOff(MIB))
      expect(await refusal(put)).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
      expect(await stored(store)).toBe(2)
      const tomorrow = await channelOn(store, { now: () => Date.now() + 25 * 3600_000 })
      await tomorrow.ack((await tomorrow.put(TASK, 1)).pointer)
      expect(await stored(store)).toBe(0)
    })

    it('a result in the folder of another server is reported with that server', async () => {
      const [ours, theirs] = [resultsOnDisk(), resultsOnDisk()]
      const settings = { result_inline_max_bytes: 1024, instance_id: 'one' }
      const { gate, another } = await open({ results: ours.results, settings })
      const offer = await hold(gate)
      await finish(gate, offer, { result: 'x'.repeat(2048), artifacts: undefined })
      const other = await another({ results: theirs.results, settings: { ...settings, instance_id: 'two' } })
      const { task_id } = offer
      expect(await refusal(other.gate.fetchTaskResult(agent(), { task_id }))).toMatchObject({
        code: 'RESULT_NOT_FOUND',
        message: expect.stringContaining('The server one stored the result'),
        details: { stored_by: 'one' },
      })
      ours.folder.remove()
      const gone = await refusal(gate.fetchTaskResult(agent(), { task_id }))
      expect(gone).not.toHaveProperty('details.stored_by')
      theirs.folder.remove()
    })

    it('large results are stored for agents of any server', async () => {
      const settings = { result_inline_max_bytes: 1024 }
      const placeholder = await open()
      const results = resultStore(openChannels({ others: [await channelOn(placeholder.store)] }), 'database')
      const { gate, another } = await placeholder.another({ results, settings })
      const offer = await hold(gate)
      const result = { text: 'x'.repeat(2 * MIB) }
      await finish(gate, offer, { result, artifacts: undefined })
      const other = await another({ results, settings })
      const page = await other.gate.fetchTaskResult(agent(), { task_id: offer.task_id, length: 100 })
      expect(page).toMatchObject({ channel: 'database', size: 2 * MIB + 11, next_offset: 100 })
    })
  },
  ['postgres'],
)

async function* cutOff(size: number): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(size)
  throw new Error('cut off')
}
