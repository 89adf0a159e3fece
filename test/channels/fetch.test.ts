import { hash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import type { Gate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { ResultStore } from '../../src/features/results/result-store.ts'
import { admin, agent, caller, describeGates, type Open, worker } from '../support/gates.ts'
import { ask, failTask, finish, held, hold, refusal } from '../support/steps.ts'
import type { Folder } from './folder.ts'
import { resultsOnDisk } from './store-on-disk.ts'

let results: ResultStore
let folder: Folder
let blobs: () => string[]
beforeEach(() => {
  ;({ results, folder, blobs } = resultsOnDisk())
})
afterEach(() => folder.remove())

/** A task of alice whose worker has uploaded this content. */
async function uploaded(open: Open, content: Buffer, media_type: string) {
  const { gate } = await open({ results })
  const offer = await hold(gate)
  const artifact = await gate.uploadResult(worker(), { ...held(offer), media_type }, content)
  await finish(gate, offer, { result: null, artifacts: [artifact] })
  return { gate, offer, artifact }
}

/** The content of all pages. */
async function pagesOf(gate: Gate, { task_id }: OfferView, length: number) {
  const parts: Buffer[] = []
  const encodings = new Set<string>()
  for (let offset: number | null = 0; offset !== null; ) {
    const page: Awaited<ReturnType<Gate['fetchTaskResult']>> = await gate.fetchTaskResult(agent(), {
      task_id,
      offset,
      length,
    })
    expect(page).toMatchObject({ offset, checksum_valid: null })
    parts.push(Buffer.from(String(page.content), page.encoding === 'base64' ? 'base64' : 'utf8'))
    encodings.add(page.encoding)
    offset = page.next_offset
  }
  return { bytes: Buffer.concat(parts), count: parts.length, encodings: [...encodings] }
}

describeGates('fetch_task_result', (open) => {
  it('an inline result is returned', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const result = { list: [1, 'zwei'] }
    await finish(gate, offer, { result })
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toEqual({
      task_id: offer.task_id,
      channel: 'inline',
      result_pointer: null,
      media_type: 'application/json',
      size: 19,
      checksum: hash('sha256', JSON.stringify(result)),
      checksum_valid: true,
      encoding: 'json',
      content: result,
      offset: 0,
      next_offset: null,
      metadata: { type: 'job', status: 'succeeded', completed_at: expect.any(String) },
    })
  })

  it('bytes are returned in base64 pages', async () => {
    const bytes = randomBytes(10_000)
    const { gate, offer } = await uploaded(open, bytes, 'image/png')
    const whole = await gate.fetchTaskResult(agent(), { task_id: offer.task_id })
    expect(whole).toMatchObject({
      encoding: 'base64',
      content: bytes.toString('base64'),
      checksum_valid: true,
    })
    const pages = await pagesOf(gate, offer, 3000)
    expect(pages).toEqual({ bytes, count: 4, encodings: ['base64'] })
  })

  it('text is returned in pages that end between two characters', async () => {
    const text = 'aé€😀'.repeat(500)
    const { gate, offer } = await uploaded(open, Buffer.from(text), 'text/plain; charset=utf-8')
    expect(await gate.fetchTaskResult(agent(), { task_id: offer.task_id })).toMatchObject({
      encoding: 'text',
      content: text,
    })
    for (const length of [4, 5, 997]) {
      const pages = await pagesOf(gate, offer, length)
      expect(pages).toMatchObject({ bytes: Buffer.from(text), encodings: ['text'] })
    }
    // The caller may choose an offset in the middle of a character.
    expect(
      await gate.fetchTaskResult(agent(), { task_id: offer.task_id, offset: 2, length: 4 }),
    ).toMatchObject({
      encoding: 'base64',
    })
  })

  it('large JSON is returned as text, and invalid JSON as text or base64', async () => {
    const { gate, offer } = await uploaded(open, Buffer.from('[1,2,3]'), 'application/json')
    expect(await pagesOf(gate, offer, 4)).toMatchObject({ count: 2, encodings: ['text'] })
    const others = [
      ['{"a":1,"a":2}', 'text'],
      ['12345678901234567890', 'text'],
      ['not json', 'text'],
      ['\xff', 'base64'],
    ] as const
    for (const [content, encoding] of others) {
      const other = await uploaded(open, Buffer.from(content, 'latin1'), 'application/json')
      const answer = await other.gate.fetchTaskResult(agent(), { task_id: other.offer.task_id })
      expect(answer, content).toMatchObject({ encoding, checksum_valid: true })
    }
  })

  it('a result that the worker has stored itself is found by any spelling of its pointer', async () => {
    const { gate } = await open({ results })
    const store = await hold(gate)
    const stored = await results.put(
      {
        tenant: 1,
        task_id: store.task_id,
        type: 'job',
        principal_ai: 'alice',
        owner: 'agent:alice',
        summary: null,
      },
      Buffer.from('{"big":true}'),
      { channel: 'file', media_type: 'application/json', max_bytes: 100, reference: 'x' },
    )
    const { pointer, checksum, size } = stored
    const bare = pointer.slice('file:'.length)
    const artifact = { channel: 'file', pointer: bare, checksum: `sha256:${checksum.toUpperCase()}`, size }
    await finish(gate, store, { result: artifact, artifacts: [{ url: 'https://x.example' }, artifact] })
    expect(await gate.fetchTaskResult(agent(), { task_id: store.task_id })).toMatchObject({
      channel: 'file',
      result_pointer: pointer,
      content: { big: true },
      checksum,
      checksum_valid: true,
    })
    expect((await gate.getTask(agent(), { task_id: store.task_id })).result).toHaveProperty('how_to_retrieve')
  })

  it('the caller can choose among several artifacts', async () => {
    const { gate } = await open({ results })
    const offer = await hold(gate)
    const artifacts = []
    for (const text of ['one', 'two']) {
      artifacts.push(await gate.uploadResult(worker(), { ...held(offer) }, Buffer.from(text)))
    }
    await finish(gate, offer, { result: null, artifacts: [{ pointer: 'depot://elsewhere' }, ...artifacts] })
    const { task_id } = offer
    const content = async (artifact?: number) =>
      Buffer.from(
        String((await gate.fetchTaskResult(agent(), { task_id, artifact })).content),
        'base64',
      ).toString()
    expect(await content()).toBe('one')
    expect(await content(1)).toBe('one')
    expect(await content(2)).toBe('two')
    expect(await refusal(content(0))).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
      details: { channel: 'depot', pointer: 'depot://elsewhere' },
    })
    expect(await refusal(content(3))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'artifact' },
    })
  })

  it('the result takes precedence over other artifacts of the worker', async () => {
    const { gate } = await open({ results, settings: { result_inline_max_bytes: 10 } })
    const offer = await hold(gate)
    const picture = await gate.uploadResult(worker(), held(offer), Buffer.from('picture'))
    await finish(gate, offer, { result: 'a large result', artifacts: [picture] })
    const { task_id } = offer
    expect(await gate.fetchTaskResult(agent(), { task_id })).toMatchObject({ content: 'a large result' })
    expect(await gate.fetchTaskResult(agent(), { task_id, artifact: 0 })).toMatchObject({ size: 7 })
    expect(await gate.archiveTaskResult(agent(), { task_id })).toMatchObject({ archived: 2 })
  })

  it('a missing channel is reported with the pointer', async () => {
    const { gate } = await open({ results: resultStore(openChannels({}), null) })
    const offer = await hold(gate)
    const artifact = { channel: 's3', pointer: 's3:bucket/key', checksum: null, size: 3 }
    await finish(gate, offer, { result: artifact, artifacts: [artifact] })
    const { task_id } = offer
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id }))).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
      details: { channel: 's3', pointer: 's3:bucket/key' },
    })
    // An inline result is returned even if an artifact cannot be read.
    const other = await hold(gate)
    await finish(gate, other, { result: 'here', artifacts: [artifact] })
    expect(await gate.fetchTaskResult(agent(), { task_id: other.task_id })).toMatchObject({ content: 'here' })
  })

  it('a damaged result is refused', async () => {
    const { gate, offer } = await uploaded(open, Buffer.from('payload'), 'text/plain')
    const [blob = ''] = blobs()
    writeFileSync(join(folder.path, blob), 'damaged')
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id: offer.task_id }))).toMatchObject({
      code: 'RESULT_CORRUPT',
      details: { expected: { size: 7 }, found: { size: 7 } },
    })
    writeFileSync(join(folder.path, blob), 'cut')
    for (const page of [{}, { offset: 2, length: 4 }]) {
      const fetched = gate.fetchTaskResult(agent(), { task_id: offer.task_id, ...page })
      expect(await refusal(fetched)).toMatchObject({
        code: 'RESULT_CORRUPT',
        details: { found: { size: 3 } },
      })
    }
  })

  it('a task that is open or did not succeed has no result', async () => {
    const { gate } = await open({ results })
    const { task_id } = await ask(gate)
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id }))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
      message: 'The task has not ended, so there is no result yet.',
      details: { task_status: 'queued' },
    })
    await gate.cancelTask(agent(), { task_id })
    const failed = await hold(gate, { max_attempts: 1 })
    await failTask(gate, failed)
    for (const [id, task_status] of [
      [task_id, 'canceled'],
      [failed.task_id, 'failed'],
    ]) {
      expect(await refusal(gate.fetchTaskResult(agent(), { task_id: id }))).toMatchObject({
        code: 'RESULT_NOT_FOUND',
        details: { task_status },
      })
    }
  })

  it('only callers that may see the task can fetch its result', async () => {
    const { gate, offer } = await uploaded(open, Buffer.from('secret'), 'text/plain')
    const { task_id } = offer
    for (const allowed of [agent(), admin(), worker()]) {
      expect(await gate.fetchTaskResult(allowed, { task_id })).toMatchObject({ content: 'secret' })
    }
    for (const other of [agent('eve'), worker('w2')]) {
      expect(await refusal(gate.fetchTaskResult(other, { task_id }))).toMatchObject({ code: 'FORBIDDEN' })
    }
    const elsewhere = agent('alice', 'elsewhere')
    expect(await refusal(gate.fetchTaskResult(elsewhere, { task_id }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
  })

  it('a pointer to the result of another task is not followed', async () => {
    const { gate, artifact } = await uploaded(open, Buffer.from('secret'), 'text/plain')
    const offer = await hold(gate, {}, {})
    await finish(gate, offer, { result: null, artifacts: [artifact] })
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id: offer.task_id }))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    await gate.archiveTaskResult(agent(), { task_id: offer.task_id })
    expect(blobs()).toHaveLength(1)
  })
})

describeGates('archive_task_result', (open) => {
  it('archiving deletes the stored result, and later reads report that it is archived', async () => {
    const { gate, offer } = await uploaded(open, Buffer.from('payload'), 'text/plain')
    const { task_id } = offer
    const first = await gate.archiveTaskResult(agent(), { task_id })
    expect(first).toEqual({
      ok: true,
      task_id,
      archived: 1,
      archived_at: expect.any(String),
      result_removed: true,
    })
    expect(await gate.archiveTaskResult(agent(), { task_id })).toEqual(first)
    expect(folder.files()).toEqual([])
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id }))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
      message: 'The result was archived.',
      details: { archived_at: first.archived_at },
    })
    expect(await gate.getTask(agent(), { task_id })).toMatchObject({ status: 'succeeded' })
  })

  it('inline results and foreign pointers are kept', async () => {
    const { gate } = await open({ results })
    const offer = await hold(gate)
    await finish(gate, offer, { result: 'small', artifacts: [{ pointer: 'depot://x' }] })
    const { task_id } = offer
    expect(await gate.archiveTaskResult(agent(), { task_id })).toMatchObject({
      ok: true,
      archived: 0,
      result_removed: false,
    })
    expect(await gate.fetchTaskResult(agent(), { task_id })).toMatchObject({ content: 'small' })
  })

  it('only the owner and admins can archive, and only ended tasks', async () => {
    const { gate, offer } = await uploaded(open, Buffer.from('payload'), 'text/plain')
    const { task_id } = offer
    for (const other of [agent('eve'), worker()]) {
      expect(await refusal(gate.archiveTaskResult(other, { task_id }))).toMatchObject({ code: 'FORBIDDEN' })
    }
    const open_ = await ask(gate)
    expect(await refusal(gate.archiveTaskResult(agent(), { task_id: open_.task_id }))).toMatchObject({
      code: 'INVALID_STATE_TRANSITION',
    })
    expect(blobs()).toHaveLength(1)
    expect(await gate.archiveTaskResult(admin(), { task_id })).toMatchObject({ archived: 1 })
  })
})

describeGates('uploads of results', (open) => {
  const DAY = 24 * 3600 * 1000

  it('only the worker that holds the lease can upload', async () => {
    const { gate } = await open({ results })
    const offer = await hold(gate)
    const content = Buffer.from('x')
    const refused = [
      [worker(), { ...held(offer), lease_id: 'other' }, 'LEASE_INVALID_OR_EXPIRED'],
      [worker('w2'), held(offer, 'w2'), 'LEASE_INVALID_OR_EXPIRED'],
      [worker(), held(offer, 'w2'), 'LEASE_INVALID_OR_EXPIRED'],
      [caller('service', 'w1', 'worker'), held(offer), 'LEASE_INVALID_OR_EXPIRED'],
      [agent(), held(offer), 'FORBIDDEN'],
      [worker(), { ...held(offer), channel: 'none' }, 'CHANNEL_NOT_CONFIGURED'],
      [worker(), { ...held(offer), checksum: 'abc' }, 'VALIDATION_ERROR'],
      [worker(), { ...held(offer), checksum: hash('sha256', 'y') }, 'VALIDATION_ERROR'],
    ] as const
    for (const [by, input, code] of refused) {
      expect(await refusal(gate.uploadResult(by, input, content)), code).toMatchObject({ code })
    }
    expect(folder.files()).toEqual([])
    const { lease_id: _, ...noLease } = held(offer)
    const checked = { ...noLease, checksum: hash('sha256', 'x') }
    expect(await gate.uploadResult(worker(), checked, content)).toMatchObject({ channel: 'blob', size: 1 })
    await finish(gate, offer)
    expect(await refusal(gate.uploadResult(worker(), held(offer), content))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'succeeded' },
    })
  })

  it('an upload uses the channel of the request or of the task type', async () => {
    const { gate } = await open({ results })
    await gate.registerTaskType(admin(), { type: 'report', result_channel: 'file' })
    const offer = await hold(gate, { type: 'report' })
    const put = (input: object) => gate.uploadResult(worker(), { ...held(offer), ...input }, Buffer.from('x'))
    expect(await put({})).toMatchObject({ channel: 'file', media_type: 'application/octet-stream' })
    expect(await put({ channel: 'blob' })).toMatchObject({ channel: 'blob' })
  })

  it('an upload over the allowed size is refused as soon as the limit is reached', async () => {
    const { gate } = await open({ results, settings: { result_max_bytes: 10 } })
    const offer = await hold(gate)
    let sent = 0
    const endless = async function* () {
      for (;;) {
        sent += 4
        yield Buffer.from('four')
      }
    }
    expect(await refusal(gate.uploadResult(worker(), held(offer), endless()))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { limit_bytes: 10 },
    })
    expect(sent).toBe(12)
    expect(folder.files()).toEqual([])
  })

  it('an upload that no task references is removed after a day', async () => {
    const { gate } = await open({ results })
    const [used, lost, working] = [await hold(gate), await hold(gate, { max_attempts: 1 }), await hold(gate)]
    const put = (offer: OfferView, text: string) =>
      gate.uploadResult(worker(), held(offer), Buffer.from(text))
    const named = await put(used, 'named')
    await put(used, 'second thoughts')
    await put(lost, 'lost')
    await put(working, 'working')
    await finish(gate, used, { result: null, artifacts: [named] })
    await failTask(gate, lost, { retryable: false })
    expect(await gate.sweepUploads(Date.now() + DAY / 2)).toBe(0)
    expect(await gate.sweepUploads(Date.now() + DAY + 1000)).toBe(2)
    expect(blobs()).toHaveLength(2)
    expect(await gate.sweepUploads(Date.now() + DAY + 1000)).toBe(0)
    expect(await gate.fetchTaskResult(agent(), { task_id: used.task_id })).toMatchObject({ size: 5 })
    await failTask(gate, working, { retryable: false })
    expect(await gate.sweepUploads(Date.now() + 3 * DAY)).toBe(1)
    expect(blobs()).toHaveLength(1)
  })

  it('an upload requires a channel', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    expect(await refusal(gate.uploadResult(worker(), held(offer), Buffer.from('x')))).toMatchObject({
      code: 'CHANNEL_NOT_CONFIGURED',
    })
  })
})
