import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { REFERENCE_TASKS, referenceTasks } from '../../src/reference-workers/reference.ts'
import { echo, sleepThenReturn } from '../../src/reference-workers/simple.ts'
import { openTestGate, outcomeOf, reaches, type TestGate, work } from './support.ts'

let gate: TestGate
beforeAll(async () => {
  gate = await openTestGate()
})
afterAll(() => gate.close())

describe('echo', () => {
  it.each([[{ hello: 'world' }], ['text'], [[1, 2]]])('echo returns the payload %j', async (payload) => {
    work(gate, [echo])
    expect(await outcomeOf(gate, 'echo', payload)).toMatchObject({
      status: 'succeeded',
      result: { echo: payload },
    })
  })
})

describe('sleep_then_return', () => {
  it('the value is returned after the time', async () => {
    work(gate, [sleepThenReturn])
    const before = performance.now()
    expect(await outcomeOf(gate, 'sleep_then_return', { seconds: 0.2, value: [1] })).toMatchObject({
      status: 'succeeded',
      result: { slept_seconds: 0.2, value: [1] },
    })
    expect(performance.now() - before).toBeGreaterThanOrEqual(195)
    expect(await outcomeOf(gate, 'sleep_then_return', { seconds: 0 })).toMatchObject({
      result: { value: null },
    })
  })

  it.each([
    [{}, 'seconds'],
    [{ seconds: -1 }, 'seconds'],
    [{ seconds: 3601 }, 'seconds'],
    [{ seconds: '1' }, 'seconds'],
    [{ seconds: 1, minutes: 1 }, 'minutes'],
  ])('the payload %j is refused permanently', async (payload, field) => {
    work(gate, [sleepThenReturn])
    const { status, error } = await outcomeOf(gate, 'sleep_then_return', payload, { max_attempts: 5 })
    expect(status).toBe('failed')
    expect(JSON.stringify(error)).toContain(field)
  })

  it('a canceled task ends the sleep', async () => {
    work(gate, [sleepThenReturn], { concurrency: 1 })
    const { id } = await gate.agent.submit('sleep_then_return', { seconds: 3600 })
    await reaches(gate, id, 'leased')
    await gate.agent.cancelTask({ task_id: id })
    // The only slot is free again.
    expect(await outcomeOf(gate, 'sleep_then_return', { seconds: 0 })).toMatchObject({ status: 'succeeded' })
  })

  it('the task is released when the worker stops', async () => {
    const working = work(gate, [sleepThenReturn], { stopSeconds: 0 })
    const { id } = await gate.agent.submit('sleep_then_return', { seconds: 3600 })
    await reaches(gate, id, 'leased')
    await working.stop()
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({ status: 'queued', attempt: 0 })
    await gate.agent.cancelTask({ task_id: id })
  })
})

it('the reference workers publish their types with schemas', async () => {
  const allowed = new Map([['date', { path: '/bin/date', args: [], takesMore: false }]])
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-commands-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tasks = await referenceTasks(REFERENCE_TASKS, { execute: { allowed, folder } })
  const warnings: unknown[] = []
  const ignore = () => {}
  const warn = (...line: unknown[]) => warnings.push(line)
  work(gate, tasks, { publish: true, logger: { debug: ignore, info: ignore, warn, error: warn } })
  const published = await vi.waitFor(async () => {
    const { task_types } = await gate.agent.listTaskTypes({})
    expect(task_types).toHaveLength(REFERENCE_TASKS.length)
    return task_types
  }, 10_000)
  expect(published).toMatchObject([
    {
      type: 'command.execute',
      payload_schema: { required: ['command'] },
      description: expect.stringContaining('date'),
    },
    { type: 'echo', payload_schema: null },
    { type: 'http_get', payload_schema: { required: ['url'] }, output_schema: { type: 'object' } },
    { type: 'sleep_then_return', payload_schema: { required: ['seconds'] } },
  ])
  await expect(gate.agent.submit('sleep_then_return', { seconds: '1' })).rejects.toMatchObject({
    details: { path: 'payload.seconds' },
  })
  expect(warnings).toEqual([])
})
