import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Client, client } from '../../src/client/index.ts'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { type CronOptions, task, worker } from '../../src/worker/index.ts'

let server: OpenServer
let owner: Client
const folder = mkdtempSync(join(tmpdir(), 'asyncgate-code-'))

beforeAll(async () => {
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
    ASYNCGATE_SCHEDULER: 'embedded',
    ASYNCGATE_PORT: '0',
  }
  server = await openServer(loadConfig({ env, file: '/dev/null' }), createLogger('silent'))
  owner = client({ url: server.url, agent: 'schedules' })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function start(type: string, schedule: CronOptions, run: (payload: unknown) => unknown = () => null) {
  const logs: string[] = []
  const note = (_: object, message: string) => logs.push(message)
  const logger = { debug() {}, info: note, warn: note, error: note }
  const started = worker({
    url: server.url,
    tasks: [task(type, { run: (payload) => void run(payload), ...schedule })],
    signals: false,
    logger,
  })
  void started.run()
  onTestFinished(() => started.kill())
  return { logs, stop: () => started.kill() }
}

/** The schedules of a type. */
const of = async (type: string) =>
  (await owner.listSchedules({})).schedules.filter((schedule) => schedule.task_type === type)

describe('schedules in code', () => {
  it('a task with cron creates its schedule once, also when several workers start at the same time', async () => {
    const options = { cron: '0 6 * * *', timezone: 'Europe/Berlin' }
    const workers = [start('report', options), start('report', options), start('report', options)]
    const isDone = ({ logs }: (typeof workers)[number]) => logs.includes('a schedule was registered')
    await expect.poll(() => workers.every(isDone), { timeout: 20_000 }).toBe(true)
    const [schedule, ...others] = await of('report')
    expect(others).toEqual([])
    expect(schedule).toMatchObject({ cron_expr: '0 6 * * *', timezone: 'Europe/Berlin', status: 'enabled' })
  })

  it('a changed expression replaces the schedule, and false deletes it', async () => {
    const first = start('cleanup', { cron: '0 1 * * *' })
    await expect.poll(() => of('cleanup')).toHaveLength(1)
    await first.stop()
    const second = start('cleanup', { cron: '0 2 * * *' })
    await expect
      .poll(async () => (await of('cleanup')).map(({ cron_expr }) => cron_expr), { timeout: 20_000 })
      .toEqual(['0 2 * * *'])
    await second.stop()
    const third = start('cleanup', { cron: false })
    await expect.poll(() => of('cleanup'), { timeout: 20_000 }).toEqual([])
    await third.stop()
    // The same plan as before, whose schedule was deleted.
    start('cleanup', { cron: '0 2 * * *' })
    await expect.poll(() => of('cleanup'), { timeout: 20_000 }).toHaveLength(1)
  })

  it('a schedule that a person has paused stays paused when a worker starts', async () => {
    const first = start('digest', { cron: '0 3 * * *' })
    await expect.poll(() => first.logs).toContain('a schedule was registered')
    const [created] = await of('digest')
    const schedule_id = created?.schedule_id ?? ''
    await (await owner.submit('schedule.pause', { schedule_id })).wait()
    await first.stop()
    const second = start('digest', { cron: '0 3 * * *' })
    await expect.poll(() => second.logs).toContain('the worker has started')
    expect(await of('digest')).toMatchObject([{ schedule_id, status: 'paused' }])
  })

  it('the tasks of the runs reach the handler with their payload', async () => {
    const payloads: unknown[] = []
    start('tick', { cron: '* * * * * *', cronPayload: { n: 1, at: '{{run_at}}' } }, (payload) =>
      payloads.push(payload),
    )
    await expect.poll(() => payloads.length, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(payloads[0]).toEqual({ n: 1, at: expect.stringMatching(/^\d{4}-/) })
  })

  it('an expression that the scheduler refuses is reported, and the worker works', async () => {
    const { logs } = start('wrong', { cron: 'every day' })
    await expect.poll(() => logs, { timeout: 20_000 }).toContain('a schedule was refused')
    expect(await (await owner.submit('wrong')).wait()).toMatchObject({ status: 'succeeded' })
  })

  it('options without cron are refused', () => {
    expect(() => task('x', { run: () => 1, timezone: 'UTC' })).toThrow('need cron')
    expect(() => task('x', { run: () => 1, cron: '' })).toThrow('cron must be')
  })
})
