import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { client } from '../../src/client/index.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { KEY, openTestGate, reaches, type TestGate } from './support.ts'

const WORKER = fileURLToPath(new URL('../../examples/04-python-worker/worker.py', import.meta.url))

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython && process.env.CI) throw new Error('python3 is not there')
if (!hasPython) console.warn('python3 is not there: THE PYTHON WORKER IS NOT TESTED')

interface PythonWorker {
  readonly process: ChildProcess
  readonly complaints: () => string
  readonly ended: Promise<number | NodeJS.Signals>
}

function startPython(url: string, env: Readonly<Record<string, string>> = {}): PythonWorker {
  const child = spawn('python3', ['-B', WORKER], {
    env: { PATH: process.env.PATH, ASYNCGATE_URL: url, ASYNCGATE_API_KEY: KEY, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => code ?? signal)
  onTestFinished(async () => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await ended
  })
  return { process: child, complaints: () => complaints, ended }
}

describe.skipIf(!hasPython)('the Python worker', () => {
  let gate: TestGate
  // One gate per test, so that no task goes to a worker that the previous test has just killed.
  beforeEach(async () => {
    gate = await openTestGate()
  })
  afterEach(() => gate.close())

  const task = async (type: string, payload: unknown, options = {}) =>
    (await gate.agent.submit(type, payload, { retry_backoff_seconds: 0, ...options })).id

  it('a task is completed with an artifact', async () => {
    startPython(gate.url)
    const id = await task('word_count', { text: 'three plain words' })
    expect(await gate.agent.wait(id)).toMatchObject({
      status: 'succeeded',
      result: {
        result: { words: 3 },
        artifacts: [{ type: 'inline', url: `inline://task/${id}/result` }],
      },
    })
    const owed = await gate.agent.listOpenObligations({})
    expect(owed.open_obligations.map(({ task_id }) => task_id)).not.toContain(id)
  })

  it('the worker publishes its task types', async () => {
    startPython(gate.url)
    await gate.agent.wait(await task('word_count', { text: 'one' }))
    const { task_types } = await gate.agent.listTaskTypes({})
    expect(task_types).toMatchObject([
      { type: 'count_down', payload_schema: { required: ['seconds'] }, live_workers: 1 },
      { type: 'flaky', payload_schema: { required: ['failures'] } },
      { type: 'word_count', description: 'Counts the words of a text.' },
    ])
    await expect(task('word_count', { text: 3 })).rejects.toMatchObject({ details: { path: 'payload.text' } })
  })

  it('a retryable failure is retried, and a permanent one is not', async () => {
    const flaky = await task('flaky', { failures: 1 }, { max_attempts: 3 })
    // Created before the worker publishes the schemas that would refuse them.
    const wrong = await task('word_count', { text: 3 }, { max_attempts: 3 })
    const broken = await task('flaky', {}, { max_attempts: 2 })
    startPython(gate.url)
    expect(await gate.agent.wait(flaky)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      result: { result: { attempt: 1 } },
    })
    expect(await gate.agent.wait(wrong)).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: { error: { code: 'Permanent', message: 'payload.text is not a string' } },
    })
    // A failing handler is retried until no attempt is left.
    expect(await gate.agent.wait(broken)).toMatchObject({
      status: 'failed',
      attempt: 1,
      result: { error: { code: 'KeyError' } },
    })
  })

  it('the lease is renewed while the handler runs', async () => {
    startPython(gate.url, { LEASE_SECONDS: '3' })
    const id = await task('count_down', { seconds: 4 })
    expect(await gate.agent.wait(id)).toMatchObject({ status: 'succeeded', expiry_count: 0 })
  })

  it('SIGTERM releases the task without using up an attempt', async () => {
    const python = startPython(gate.url, { GRACE_SECONDS: '0.1' })
    const id = await task('count_down', { seconds: 600 })
    await reaches(gate, id, 'leased')
    python.process.kill('SIGTERM')
    expect(await python.ended).toBe(0)
    const back = await gate.agent.getTask({ task_id: id })
    expect(back).toMatchObject({ status: 'queued', attempt: 0, expiry_count: 0 })
    await gate.agent.cancelTask({ task_id: id })
  })

  it('running tasks are finished before the worker stops', async () => {
    const python = startPython(gate.url)
    const id = await task('count_down', { seconds: 1 })
    await reaches(gate, id, 'leased')
    python.process.kill('SIGTERM')
    expect(await python.ended).toBe(0)
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({ status: 'succeeded' })
  })

  it('a drained worker finishes its tasks and stops', async () => {
    const python = startPython(gate.url, { WORKER_ID: 'drained', LEASE_SECONDS: '3', SLOTS: '1' })
    const id = await task('count_down', { seconds: 3 })
    await reaches(gate, id, 'leased')
    const operator = client({ url: gate.url, key: KEY })
    await operator.drainWorker({ worker_id: 'drained' })
    expect(await python.ended).toBe(0)
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({ status: 'succeeded' })
  })

  it('a canceled task is dropped, and the next one is executed', async () => {
    const python = startPython(gate.url, { LEASE_SECONDS: '1', SLOTS: '1' })
    const id = await task('count_down', { seconds: 600 })
    await reaches(gate, id, 'leased')
    await gate.agent.cancelTask({ task_id: id })
    // The only slot is free again after the renewal was refused.
    const next = await task('word_count', { text: 'next' })
    expect(await gate.agent.wait(next)).toMatchObject({ status: 'succeeded' })
    // The refused renewal acknowledges the cancellation, and the worker reports that it has stopped.
    const time = expect.any(String)
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({
      status: 'canceled',
      cancellation: { acknowledged_at: time, stopped_at: time },
    })
    expect(python.complaints()).toBe('')
  })

  it('a lease that was lost while the worker was suspended is not reported on', async () => {
    const python = startPython(gate.url, { LEASE_SECONDS: '1', SLOTS: '1' })
    const id = await task('count_down', { seconds: 2 })
    await reaches(gate, id, 'leased')
    python.process.kill('SIGSTOP')
    const other = client({ url: gate.url, key: KEY })
    const claim = { worker_id: 'other', accept_types: ['count_down'], wait_seconds: 20 }
    const [offer] = (await other.leaseNext(claim)).tasks
    if (offer === undefined) throw new Error('the lease did not lapse')
    expect(offer.task_id).toBe(id)
    python.process.kill('SIGCONT')
    const next = await task('word_count', { text: 'next' })
    expect(await gate.agent.wait(next)).toMatchObject({ status: 'succeeded' })
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({
      status: 'leased',
      lease: { worker_id: 'other' },
    })
    const { lease_id } = offer
    await other.complete({ worker_id: 'other', task_id: id, lease_id, result: 'by the other' })
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({
      status: 'succeeded',
      result: { result: 'by the other' },
    })
  })

  it('a report is repeated until there is a response', async () => {
    const proxy = await startTcpProxy(gate.url)
    onTestFinished(() => proxy.close())
    startPython(proxy.url)
    proxy.cutAt('/complete', 'nothing')
    const id = await task('word_count', { text: 'again' })
    expect(await gate.agent.wait(id, { timeoutMs: 25_000 })).toMatchObject({ status: 'succeeded' })
  })

  it('a refused key ends the worker with the reason', async () => {
    const python = startPython(gate.url, { ASYNCGATE_API_KEY: 'wrong' })
    expect(await python.ended).toBe(1)
    expect(python.complaints()).toContain('UNAUTHENTICATED')
  })
})
