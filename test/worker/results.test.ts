import { describe, expect, it } from 'vitest'
import { MAX_INLINE_BYTES, type ResultStore, task } from '../../src/worker/index.ts'
import { workerBench } from './support.ts'

/** A result store in memory that records its calls. */
function memoryStore() {
  const puts: { taskId: string; value: unknown; channel: string | undefined }[] = []
  const store: ResultStore = {
    async put(taskId, value, channel) {
      puts.push({ taskId, value, channel })
      const size = JSON.stringify(value).length
      return { pointer: `memory:${taskId}`, channel: channel ?? 'memory', checksum: 'sha256:00', size }
    },
  }
  return { store, puts }
}

describe('results of a worker', () => {
  const start = workerBench()
  const big = 'x'.repeat(MAX_INLINE_BYTES)

  it('a result of more than 1 MiB is stored in the result store', async () => {
    const gate = await start()
    const { store: results, puts } = memoryStore()
    gate.start([task('job', { run: () => big })], { results })
    const task_id = await gate.ask('job')
    const stored = {
      pointer: `memory:${task_id}`,
      channel: 'memory',
      checksum: 'sha256:00',
      size: big.length + 2,
    }
    expect(await gate.end(task_id)).toMatchObject({
      status: 'succeeded',
      result: { result: stored, artifacts: [stored] },
    })
    expect(puts).toEqual([{ taskId: task_id, value: big, channel: undefined }])
  })

  it('the size of a result is measured in bytes', async () => {
    const gate = await start()
    const { store: results, puts } = memoryStore()
    const run = () => '€'.repeat(MAX_INLINE_BYTES / 3)
    gate.start([task('job', { run })], { results })
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
    expect(puts).toHaveLength(1)
  })

  it('the result of a task with a channel is stored there, whatever its size', async () => {
    const gate = await start()
    const { store: results, puts } = memoryStore()
    const tasks = [task('job', { channel: 'file', run: () => 1 }), task('plain', { run: () => 1 })]
    gate.start(tasks, { results })
    const task_id = await gate.ask('job')
    expect(await gate.end(task_id)).toMatchObject({ result: { artifacts: [{ channel: 'file' }] } })
    expect(await gate.end(await gate.ask('plain'))).toMatchObject({ result: { result: 1 } })
    expect(puts).toEqual([{ taskId: task_id, value: 1, channel: 'file' }])
  })

  it('bytes and byte streams are stored unchanged', async () => {
    const gate = await start()
    const chunks: unknown[] = []
    const results: ResultStore = {
      async put(taskId, value) {
        if (value instanceof ReadableStream) for await (const chunk of value) chunks.push(chunk)
        else chunks.push(value)
        return { pointer: `memory:${taskId}`, channel: 'memory', checksum: '00', size: 3 }
      },
    }
    const bytes = new Uint8Array([1, 2, 3])
    const run = (kind: unknown) => (kind === 'bytes' ? bytes : new Blob([bytes]).stream())
    gate.start([task('job', { run })], { results })
    for (const kind of ['bytes', 'stream']) {
      expect(await gate.end(await gate.ask('job', kind))).toMatchObject({
        status: 'succeeded',
        result: { artifacts: [{ channel: 'memory', size: 3 }] },
      })
    }
    expect(chunks).toEqual([bytes, bytes])
  })

  it('bytes without a result store fail the task permanently', async () => {
    const gate = await start()
    gate.start([task('job', { run: () => new Uint8Array(3) })])
    expect(await gate.end(await gate.ask('job'))).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: { error: { code: 'INVALID_OUTPUT', message: expect.stringContaining('"results"') } },
    })
  })

  it('a result that cannot be stored is a retryable failure', async () => {
    const gate = await start()
    let tries = 0
    const results: ResultStore = {
      async put(taskId, value) {
        if (++tries === 1) throw new Error('the disk is full')
        return memoryStore().store.put(taskId, value)
      },
    }
    gate.start([task('job', { channel: 'file', run: () => 1 })], { results })
    const task_id = await gate.ask('job', {}, { retry_backoff_seconds: 0 })
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', attempt: 1 })
  })

  it('a result that is too large without a result store fails permanently with a hint', async () => {
    const gate = await start({ maxBodyBytes: 8 * 1024 * 1024 })
    gate.start([task('job', { run: () => big })])
    expect(await gate.end(await gate.ask('job'))).toMatchObject({
      status: 'failed',
      result: {
        error: {
          code: 'RESULT_REFUSED',
          details: { code: 'PAYLOAD_TOO_LARGE' },
          hint: expect.stringContaining('"results"'),
        },
      },
    })
  })
})
