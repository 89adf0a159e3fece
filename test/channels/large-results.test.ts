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

/** The anomalies about displaced results that the owner gets. */
async function displacements(gate: Gate, offer: { readonly task_id: string }) {
  const receipts = await receiptsOf(gate, offer)
  return receipts.flatMap(({ body }) => {
    const { kind, details } = body as { kind?: string; details?: object }
    return kind === 'result_displaced' ? [details] : []
  })
}

describeGates('results that are too large for their task', (open) => {
  it('a large result goes to a channel, and the task and its receipts say where it is and how to get it', async () => {
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

  it('the pointer is added to the artifacts of the worker', async () => {
    const { gate } = await open({ results, settings: SETTINGS })
    const offer = await hold(gate)
    await finish(gate, offer, { result: LARGE })
    expect((await look(gate, offer)).result?.artifacts).toEqual([...ARTIFACTS, ARTIFACT])
    const other = await hold(gate)
    await finish(gate, other, { result: LARGE, artifacts: ARTIFACTS[0] })
    expect((await look(gate, other)).result?.artifacts).toEqual([...ARTIFACTS, ARTIFACT])
  })

  it('a repeated completion returns the first response and stores the result once', async () => {
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

  it('concurrent completions count as one, whatever their pointers are', async () => {
    const { gate, errors } = await open({ results: numbered(results), settings: SETTINGS })
    const offer = await hold(gate)
    const answers = await Promise.all(Array.from({ length: 5 }, () => finish(gate, offer, { result: LARGE })))
    expect(new Set(answers.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    expect(await receiptsOf(gate, offer)).toHaveLength(4)
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({ content: LARGE })
    expect(errors).toEqual([])
  })

  it('each item of complete_many has its own outcome', async () => {
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

  it('a completion under an expired lease is refused, and its result is removed', async () => {
    const { gate, clock } = await open({ results, settings: SETTINGS })
    const offer = await hold(gate)
    clock.advance(120)
    // The lease has expired, but no sweep has run, so only the commit can detect it.
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

  it('a refused completion of an earlier lease does not remove the same result of the current lease', async () => {
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

  it('a large result is refused without a channel', async () => {
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

  it('a result over result_max_bytes is refused, and the lease remains', async () => {
    const { gate } = await open({ results, settings: { ...SETTINGS, result_max_bytes: 15 * KB } })
    const offer = await hold(gate)
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'result', limit_bytes: 15 * KB },
    })
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(folder.files()).toEqual([])
  })

  it('a result over max_payload_bytes is never stored inline', async () => {
    const settings = { max_payload_bytes: 10 * KB, result_inline_max_bytes: 100 * KB }
    const { gate } = await open({ results, settings })
    const offer = await hold(gate)
    await finish(gate, offer, { result: LARGE })
    expect((await look(gate, offer)).result?.result).toEqual(ARTIFACT)
  })

  it('complete is retryable while the channel is unavailable and the result does not fit inline', async () => {
    writeFileSync(join(folder.path, 'blobs'), '')
    const settings = { ...SETTINGS, max_payload_bytes: 10 * KB }
    const { gate, errors } = await open({ results, settings })
    const offer = await hold(gate)
    expect(await refusal(finish(gate, offer, { result: LARGE }))).toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      retryable: true,
    })
    expect(await statusOf(gate, offer)).toBe('leased')
    // Each attempt is reported to the operator.
    expect(errors).toMatchObject([{ code: 'ENOTDIR' }, { code: 'ENOTDIR' }, { code: 'ENOTDIR' }])
  })

  it('the result is stored inline while the channel is unavailable, if it fits', async () => {
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

  it('the stored result is kept when the outcome of the commit is unknown', async () => {
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

describeGates('results of a server that died before the commit', (open) => {
  it('such a result is removed after a day if the task has ended with another result', async () => {
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
  'inline results',
  (open) => {
    it('a server with another inline limit recognizes an inline result', async () => {
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

describeGates('task types with a result channel', (open) => {
  it('every result of the type goes to its channel, whatever its size', async () => {
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

  it('a result that the worker has stored itself is not moved', async () => {
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

  it('with an inline or missing channel, small results stay inline', async () => {
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

/** A store that returns a different pointer for every put, as email does. */
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
