import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import { canonical } from '../../src/core/json/json.ts'
import type { Gate } from '../../src/features/gate.ts'
import type { ResultStore } from '../../src/features/results/result-store.ts'
import { StoreError } from '../../src/store/store.ts'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import {
  ARTIFACTS,
  expire,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  override,
  receiptsOf,
  refusal,
  statusOf,
} from '../support/steps.ts'
import type { Folder } from './folder.ts'
import { resultsOnDisk } from './store-on-disk.ts'

const KB = 1024
const SETTINGS = { result_inline_max_bytes: 10 * KB }
const LARGE = { text: 'é'.repeat(10 * KB) }
const CHECKSUM = hash('sha256', canonical(LARGE))

let results: ResultStore
let folder: Folder
let blobs: () => string[]
beforeEach(() => {
  ;({ results, folder, blobs } = resultsOnDisk())
})
afterEach(() => folder.remove())

const ARTIFACT = {
  channel: 'blob',
  checksum: CHECKSUM,
  media_type: 'application/json',
  pointer: `blob:main/${CHECKSUM}`,
  size: Buffer.byteLength(canonical(LARGE)),
}

/** The anomalies that the owner gets about missing results. */
async function displacements(gate: Gate, offer: { readonly task_id: string }) {
  const receipts = await receiptsOf(gate, offer)
  return receipts.flatMap(({ body }) => {
    const { kind, details } = body as { kind?: string; details?: object }
    return kind === 'result_displaced' ? [details] : []
  })
}

describeGates('a result that is too large for its task', (open) => {
  it('goes to a channel; the task and the receipts say where it is and how to get it', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    const offer = await hold(gate)
    const answer = await finish(gate, offer, { result: LARGE, artifacts: undefined })
    expect(answer).toMatchObject({ ok: true, obligation_open: false })
    const how_to_retrieve = {
      operation: 'fetch_task_result',
      task_id: offer.task_id,
      download: `/v1/tasks/${offer.task_id}/result`,
    }
    const { result } = await look(gate, offer)
    expect(result).toMatchObject({ result: ARTIFACT, artifacts: [ARTIFACT], how_to_retrieve })
    const [, , completed, ready] = await receiptsOf(gate, offer)
    for (const receipt of [completed, ready]) {
      expect(receipt?.body).toMatchObject({
        result_payload: ARTIFACT,
        artifacts: [ARTIFACT],
        how_to_retrieve,
      })
    }
    expect(await openTasks(gate)).toEqual([])
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({
      channel: 'blob',
      result_pointer: ARTIFACT.pointer,
      content: LARGE,
      encoding: 'json',
      checksum: CHECKSUM,
      checksum_valid: true,
      size: ARTIFACT.size,
      next_offset: null,
      metadata: { type: 'job', status: 'succeeded' },
    })
  })

  it('adds its pointer to what the worker says', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    const offer = await hold(gate)
    await finish(gate, offer, { result: LARGE })
    expect((await look(gate, offer)).result?.artifacts).toEqual([...ARTIFACTS, ARTIFACT])
    const other = await hold(gate)
    await finish(gate, other, { result: LARGE, artifacts: ARTIFACTS[0] })
    expect((await look(gate, other)).result?.artifacts).toEqual([...ARTIFACTS, ARTIFACT])
  })

  it('sent again is answered as the first time, and stored once', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    for (const evidence of [
      { artifacts: ARTIFACTS },
      { artifacts: undefined },
      { artifacts: undefined, delivery_proof: { mode: 'mail', target: 'a@b.example' } },
    ]) {
      const offer = await hold(gate)
      const first = await finish(gate, offer, { result: LARGE, ...evidence })
      expect(await finish(gate, offer, { result: LARGE, ...evidence })).toEqual(first)
      expect(await finish(gate, offer, { result: LARGE, artifacts: undefined })).toEqual(first)
      expect(await receiptsOf(gate, offer)).toHaveLength(4)
      for (const other of [{ text: 'é'.repeat(10 * KB - 1) }, 'small', ARTIFACT.pointer]) {
        expect(await refusal(finish(gate, offer, { result: other }))).toMatchObject({
          code: 'RESULT_CONFLICT',
        })
      }
      const proof = finish(gate, offer, { result: LARGE, artifacts: [{ url: 'other' }] })
      expect(await refusal(proof)).toMatchObject({ code: 'RESULT_CONFLICT' })
    }
    expect(blobs()).toHaveLength(1)
  })

  it('sent several times concurrently is one completion, whatever its pointers are', async () => {
    const { gate, errors } = await open({ results: numbered(results), settings: SETTINGS })
    const offer = await hold(gate)
    const answers = await Promise.all(Array.from({ length: 5 }, () => finish(gate, offer, { result: LARGE })))
    expect(new Set(answers.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    expect(await receiptsOf(gate, offer)).toHaveLength(4)
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({ content: LARGE })
    expect(errors).toEqual([])
  })

  it('of complete_many has its own outcome', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    const offers = [await hold(gate), await hold(gate)]
    const items = offers.map((offer, n) => ({ ...held(offer), result: n === 0 ? LARGE : 'small' }))
    const { results: outcomes } = await gate.completeMany(worker(), {
      items: [...items, { ...items[0], lease_id: 'other' }],
    })
    expect(outcomes).toMatchObject([
      { ok: true, obligation_open: false },
      { ok: true, obligation_open: true },
      { code: 'LEASE_INVALID_OR_EXPIRED' },
    ])
  })

  it('under an expired lease is refused, and nothing of it stays stored', async () => {
    const { gate, clock } = await open({ results, settings: SETTINGS })
    const offer = await hold(gate)
    clock.advance(120)
    // The lease has lapsed, but no sweep has noticed: only the commit can tell.
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
    })
    await expire(gate, clock)
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'queued' },
    })
    expect(folder.files()).toEqual([])
    const missing = { ...offer, task_id: '00000000-0000-4000-8000-000000000000' }
    expect(await refusal(finish(gate, missing, { result: LARGE }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  it('of an earlier lease that is refused leaves the same one of the present lease alone', async () => {
    const order: string[] = []
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const slowFirst: ResultStore = {
      ...results,
      async put(...input) {
        const artifact = await results.put(...input)
        if (order.push('put') === 1) await released
        return artifact
      },
      async ack(...input) {
        await results.ack(...input)
        order.push('ack')
      },
    }
    const { gate, clock } = await open({ results: slowFirst, settings: SETTINGS })
    const first = await hold(gate)
    const late = refusal(finish(gate, first, { result: LARGE }))
    await expect.poll(() => order).toEqual(['put'])
    await expire(gate, clock)
    const second = await lease(gate)
    const done = finish(gate, second, { result: LARGE })
    await expect.poll(() => order).toEqual(['put', 'put'])
    release()
    expect(await late).toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
    await done
    expect(order).toEqual(['put', 'put', 'ack'])
    expect(await gate.fetchTaskResult(agent(), { task_id: second.task_id })).toMatchObject({ content: LARGE })
  })

  it('is refused as ever without a channel', async () => {
    for (const more of [{}, { results: resultStore(openChannels({}), null) }]) {
      const { gate } = await open({ settings: { max_payload_bytes: 10 * KB }, ...more })
      const offer = await hold(gate)
      expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        details: { path: 'result', limit_bytes: 10 * KB },
      })
      expect(await statusOf(gate, offer)).toBe('leased')
    }
  })

  it('is refused over the size that the operator allows, and the lease stays', async () => {
    const { gate } = await open({ results, settings: { ...SETTINGS, result_max_bytes: 15 * KB } })
    const offer = await hold(gate)
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'result', limit_bytes: 15 * KB },
    })
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(folder.files()).toEqual([])
  })

  it('never stays with its task over the largest payload, whatever the other limit says', async () => {
    const settings = { max_payload_bytes: 10 * KB, result_inline_max_bytes: 100 * KB }
    const { gate } = await open({ results, settings })
    const offer = await hold(gate)
    await finish(gate, offer, { result: LARGE })
    expect((await look(gate, offer)).result?.result).toEqual(ARTIFACT)
  })

  it('waits with the worker while the channel is away and the task has no room for it', async () => {
    writeFileSync(join(folder.path, 'blobs'), '')
    const settings = { ...SETTINGS, max_payload_bytes: 10 * KB }
    const { gate, errors } = await open({ results, settings })
    const offer = await hold(gate)
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      retryable: true,
    })
    expect(await statusOf(gate, offer)).toBe('leased')
    // The operator hears what the caller does not, of each attempt.
    expect(errors).toMatchObject([{ code: 'ENOTDIR' }, { code: 'ENOTDIR' }, { code: 'ENOTDIR' }])
  })

  it('stays with its task while the channel is away, if the task has room for it', async () => {
    writeFileSync(join(folder.path, 'blobs'), '')
    const { gate } = await open({ results, settings: { ...SETTINGS, locatability: 'strict' } })
    const offer = await hold(gate)
    const answer = await finish(gate, offer, { result: LARGE, artifacts: undefined })
    expect(answer).toMatchObject({ ok: true, obligation_open: false })
    expect(await finish(gate, offer, { result: LARGE, artifacts: undefined })).toEqual(answer)
    expect((await look(gate, offer)).result).toMatchObject({ result: LARGE })
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({
      channel: 'inline',
      content: LARGE,
    })
    expect(await displacements(gate, offer)).toEqual([
      { channel: 'blob', reason: 'CHANNEL_UNAVAILABLE', kept_in: 'inline' },
    ])
    const evident = await hold(gate)
    const first = await finish(gate, evident, { result: LARGE })
    expect(await finish(gate, evident, { result: LARGE })).toEqual(first)
    expect((await look(gate, evident)).result?.artifacts).toEqual(ARTIFACTS)
  })

  it('is kept when the outcome of the commit is unknown', async () => {
    const { gate } = await open({
      results,
      settings: SETTINGS,
      wrap: (real) =>
        override(real, {
          commit: async (need, decide) => {
            const committed = await real.commit(need, decide)
            if (lose) throw new StoreError('unknown', 'the connection was cut')
            return committed
          },
        }),
    })
    let lose = false
    const offer = await hold(gate)
    lose = true
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    lose = false
    expect(blobs()).toHaveLength(1)
    expect(await finish(gate, offer, { result: LARGE })).toMatchObject({ ok: true })
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({ content: LARGE })
  })
})

describeGates('a result whose server died before the task had it', (open) => {
  it('is removed a day later, if the task has ended with another', async () => {
    let dies = false
    const { gate, clock } = await open({
      results,
      settings: SETTINGS,
      wrap: (real) =>
        override(real, {
          commit: async (need, decide) => {
            if (dies) throw new StoreError('unknown', 'the connection was cut')
            return real.commit(need, decide)
          },
        }),
    })
    const offer = await hold(gate)
    dies = true
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    dies = false
    await expire(gate, clock)
    expect(blobs()).toHaveLength(1)
    await finish(gate, await lease(gate), { result: 'another' })
    expect(await gate.sweepUploads(Date.now() + 25 * 3600 * 1000)).toBe(1)
    expect(folder.files()).toEqual([])
  })
})

describeGates(
  'a result that stayed with its task',
  (open) => {
    it('is known again by a server with another limit', async () => {
      const { gate, another } = await open()
      const offer = await hold(gate)
      const first = await finish(gate, offer, { result: LARGE })
      const { gate: strict } = await another({ results, settings: SETTINGS })
      expect(await finish(strict, offer, { result: LARGE })).toEqual(first)
      expect(await refusal(finish(strict, offer, { result: [LARGE] }))).toMatchObject({
        code: 'RESULT_CONFLICT',
      })
      expect(folder.files()).toEqual([])
    })
  },
  ['postgres'],
)

describeGates('a type with its own channel', (open) => {
  it('has every result there, however small, and other types do not', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    await gate.registerTaskType(admin(), { type: 'report', result_channel: 'file' })
    const offer = await hold(gate, { type: 'report' })
    await finish(gate, offer, { result: { rows: 3 }, artifacts: undefined })
    const { result } = await look(gate, offer)
    expect(result).toMatchObject({
      result: { channel: 'file', pointer: expect.stringContaining(`/files/${offer.task_id}/`) },
      how_to_retrieve: { operation: 'fetch_task_result' },
    })
    const [file = ''] = folder.files().filter((name) => name.startsWith('files/'))
    expect(readFileSync(join(folder.path, file), 'utf8')).toBe('{"rows":3}')
    const other = await hold(gate)
    await finish(gate, other, { result: { rows: 3 } })
    expect((await look(gate, other)).result?.result).toEqual({ rows: 3 })
  })

  it('leaves alone what the worker has put away itself', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    await gate.registerTaskType(admin(), { type: 'report', result_channel: 'file' })
    const offer = await hold(gate, { type: 'report' })
    const artifact = await gate.uploadResult(
      worker(),
      { ...held(offer), channel: 'blob' },
      Buffer.from('picture'),
    )
    await finish(gate, offer, { result: artifact, artifacts: [artifact] })
    expect((await look(gate, offer)).result).toMatchObject({ result: artifact, artifacts: [artifact] })
    expect(folder.files().filter((name) => name.startsWith('files/'))).toEqual([])
  })

  it('that is inline, or not configured, leaves small results with their task', async () => {
    const { gate, errors } = await open({ results, settings: SETTINGS })
    for (const [type, result_channel] of [
      ['a', 'inline'],
      ['b', 'carrier-pigeon'],
    ]) {
      await gate.registerTaskType(admin(), { type, result_channel })
      const offer = await hold(gate, { type })
      await finish(gate, offer, { result: 'small' })
      expect((await look(gate, offer)).result?.result).toBe('small')
      const large = await hold(gate, { type })
      await finish(gate, large, { result: LARGE })
      expect((await look(gate, large)).result?.result).toEqual(ARTIFACT)
    }
    expect(String(errors[0])).toContain('The result channel carrier-pigeon of task type')
  })
})

/** The store with another pointer for every put, as mail has it. */
function numbered(store: ResultStore): ResultStore {
  const real = new Map<string, string>()
  return {
    ...store,
    async put(...input) {
      const artifact = await store.put(...input)
      const pointer = `blob:${real.size}`
      real.set(pointer, artifact.pointer)
      return { ...artifact, pointer }
    },
    get: (taskId, artifact) => store.get(taskId, { ...artifact, pointer: real.get(artifact.pointer) ?? '' }),
    ack: (taskId, pointer, reference) => store.ack(taskId, real.get(pointer) ?? '', reference),
  }
}
