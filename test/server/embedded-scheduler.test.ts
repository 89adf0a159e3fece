import { expect, it } from 'vitest'
import { createLogger } from '../../src/http/log.ts'
import { startEmbeddedScheduler } from '../../src/server/embedded-scheduler.ts'
import { agent, type Bench, describeGates } from '../support/gates.ts'
import { look, soon } from '../support/steps.ts'

const logger = createLogger('silent')

const start = ({ gate, store }: Bench) => startEmbeddedScheduler(gate, store, logger)

/** Runs a control task and returns its result. */
async function control({ gate }: Bench, type: string, payload: object) {
  const { task_id } = await gate.createTask(agent(), { type, payload })
  const ended = await gate.waitForTask(agent(), { task_id, wait_seconds: 20 })
  expect(ended).toMatchObject({ status: 'succeeded' })
  return task_id
}

const EVERY_SECOND = {
  name: 'every second',
  mode: 'interval',
  interval_seconds: 1,
  task_template: { type: 'tick', payload_template: { at: '{{run_at}}' } },
}

async function runsOf({ gate }: Bench, schedule_id: string) {
  const { tasks } = await gate.listTasks(agent(), { labels: { schedule_id }, limit: 200 })
  return Promise.all(tasks.map(async ({ task_id }) => (await look(gate, { task_id })).idempotency_key))
}

describeGates('the embedded scheduler', (open, storeName) => {
  it('two servers share the schedules and create one task for each run', async () => {
    const bench = await open({ realTime: true })
    const second = storeName === 'postgres' ? await bench.another({ realTime: true }) : bench
    const schedulers = [await start(bench), await start(second)]
    const id = await control(bench, 'schedule.create', EVERY_SECOND)
    await expect.poll(async () => (await runsOf(bench, id)).length, { timeout: 20_000 }).toBeGreaterThan(2)
    // Either server may have accepted the schedule: the other one continues.
    await soon(schedulers[0]?.stop() ?? Promise.reject())
    const before = (await runsOf(bench, id)).length
    await expect
      .poll(async () => (await runsOf(bench, id)).length, { timeout: 20_000 })
      .toBeGreaterThan(before)
    await control(bench, 'schedule.pause', { schedule_id: id })
    await control(bench, 'schedule.resume', { schedule_id: id })
    await control(bench, 'schedule.delete', { schedule_id: id })
    await soon(schedulers[1]?.stop() ?? Promise.reject())
    const keys = await runsOf(bench, id)
    expect(new Set(keys).size).toBe(keys.length)
    expect((await bench.gate.listSchedules(agent(), {})).schedules).toEqual([])
  })

  it('schedules are still there after a restart, with their state', async () => {
    const bench = await open({ realTime: true })
    const first = await start(bench)
    const id = await control(bench, 'schedule.create', { ...EVERY_SECOND, interval_seconds: 3600 })
    await control(bench, 'schedule.pause', { schedule_id: id })
    await first.stop()
    const again = await start(bench)
    const listed = await control(bench, 'schedule.list', {})
    const { result } = await look(bench.gate, { task_id: listed })
    expect(result?.result).toMatchObject({ schedules: [{ schedule_id: id, status: 'paused' }] })
    await again.stop()
  })
})
