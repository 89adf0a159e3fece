import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { openScheduler } from '../../src/scheduler/scheduler.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { cli, folder, startCli, testFolder } from '../cli/support.ts'
import { KEY, serveGate } from '../http/support.ts'
import { silent } from './support.ts'

const cleanups: (() => unknown)[] = []
let env: Record<string, string>

beforeAll(async () => {
  const path = folder()
  const store = await openSqliteStore({ path: join(path, 'gate.db') })
  const gate = openGate({ store })
  const served = await serveGate(gate)
  env = { ASYNCGATE_URL: served.url }
  const scheduler = await openScheduler({ url: served.url, path: join(path, 'scheduler.db'), logger: silent })
  const stopping = new AbortController()
  const ended = scheduler.run({ signal: stopping.signal })
  cleanups.push(async () => {
    stopping.abort()
    await ended
    await served.close()
    await gate.close()
  })
})
afterAll(async () => {
  for (const clean of cleanups) await clean()
})

const schedules = (...args: string[]) => cli(['schedules', ...args, '--as', 'agent:alice'], env)
const json = async (...args: string[]) => JSON.parse((await schedules(...args, '--json')).stdout)

describe('asyncgate schedules', () => {
  it('a schedule is created, shown, listed, paused, resumed and deleted', async () => {
    const created = await schedules(
      'create',
      'nightly',
      '--cron',
      '30 2 * * *',
      '--timezone',
      'Europe/Berlin',
      '--type',
      'report',
      '--payload',
      '{"day": "{{run_at}}"}',
      '--label',
      'team=ops',
    )
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+ runs first at \d{4}-/) })
    const [id = ''] = created.stdout.split(' ')

    const shown = await schedules('show', id)
    expect(shown.stdout).toMatch(/name +nightly/)
    expect(shown.stdout).toMatch(/runs +every day at 02:30 Europe\/Berlin/)
    expect(shown.stdout).toMatch(/expression +30 2 \* \* \* Europe\/Berlin/)
    expect(shown.stdout).toMatch(/template .*"payload_template":\{"day":"\{\{run_at\}\}"\}/)
    expect(await json('show', id)).toMatchObject({ schedule_id: id, status: 'enabled', runs: [] })

    expect((await schedules('list')).stdout).toMatch(new RegExp(`${id} +enabled +agent:alice +nightly`))
    const ofAll = await cli(['schedules', 'list'], env)
    expect(ofAll.stdout).toMatch(new RegExp(`${id} +enabled +agent:alice +nightly`))
    const run = await cli(['schedules', 'run', id, '--run-key', 'a'], env)
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+ is queued\n$/) })
    expect((await cli(['schedules', 'run', id, '--run-key', 'a'], env)).stdout).toBe(run.stdout)
    const paused = await cli(['schedules', 'pause', id], env)
    expect(paused).toMatchObject({ code: 0, stdout: `${id} is paused\n` })
    expect(await schedules('pause', id)).toMatchObject({ code: 0, stdout: `${id} is paused\n` })
    expect(await json('list')).toMatchObject({ schedules: [{ status: 'paused' }] })
    expect((await schedules('resume', id)).stdout).toMatch(/runs next at \d{4}-/)
    expect(await schedules('delete', id)).toMatchObject({ code: 0, stdout: `${id} is deleted\n` })
    expect((await schedules('list')).stdout).toBe('There are no schedules.\n')
  })

  it('a schedule with an interval shows the tasks of its runs', async () => {
    const { schedule_id } = await json(
      'create',
      'often',
      '--every',
      '1',
      '--type',
      'tick',
      '--misfire',
      'skip',
      '--jitter',
      '0',
    )
    await expect
      .poll(async () => (await json('show', schedule_id, '--runs', '1')).runs.length, { timeout: 10_000 })
      .toBe(1)
    await schedules('delete', schedule_id)
  })

  it.each([
    [['show', 'none'], 3, /SCHEDULE_NOT_FOUND|There is no such schedule/],
    [['create', 'x', '--cron', 'nonsense', '--type', 'y'], 2, /payload\.cron_expr: is not five fields/],
    [['create', 'x', '--type', 'y'], 2, /Give either --every or --cron/],
    [['create', 'x', '--every', '1', '--cron', '@daily', '--type', 'y'], 2, /Give either --every or --cron/],
    [['create', 'x', '--every', '1'], 2, /--type is missing/],
    [['create', 'x', '--every', '1', '--type', 'y', '--payload', '{'], 2, /--payload is not JSON/],
    [['pause'], 2, /SCHEDULE_ID is missing/],
  ])('the arguments %j are refused with the reason', async (args, code, reason) => {
    const ended = await schedules(...args)
    expect(ended.code).toBe(code)
    expect(ended.stderr).toMatch(reason)
  })

  it('without a scheduler, the request times out and is withdrawn', { timeout: 30_000 }, async () => {
    const store = await openSqliteStore({ path: join(testFolder(), 'gate.db') })
    const gate = openGate({ store })
    const served = await serveGate(gate)
    onTestFinished(async () => {
      await served.close()
      await gate.close()
    })
    const withoutScheduler = { ASYNCGATE_URL: served.url }
    expect((await cli(['schedules', 'list'], withoutScheduler)).stdout).toBe('There are no schedules.\n')
    const create = ['schedules', 'create', 'x', '--every', '60', '--type', 'y']
    const ended = await cli(create, withoutScheduler)
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/No scheduler responded within 10 s/),
    })
    expect((await cli(['tasks', 'list', '--status', 'queued'], withoutScheduler)).stdout).toBe(
      'There are no such tasks.\n',
    )
  })
})

describe('asyncgate scheduler', () => {
  const served = async () => {
    const store = await openSqliteStore({ path: ':memory:' })
    const gate = openGate({ store })
    const server = await serveGate(gate, { auth: { api_key: KEY, allow_insecure_dev: false } })
    onTestFinished(async () => {
      await server.close()
      await gate.close()
    })
    return server.url
  }

  it('a wrong key exits immediately with an error', async () => {
    const path = testFolder()
    const url = await served()
    const ended = await startCli(['scheduler', '--url', url, '--key', 'wrong', '--log-level', 'error'], path)
      .ended
    expect(ended).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/does not accept this scheduler.*UNAUTHENTICATED/),
    })
  })

  it('a file that is not a scheduler database is reported', async () => {
    const path = testFolder()
    const url = await served()
    const ended = await startCli(['scheduler', '--url', url, '--db', path], path).ended
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/cannot be opened/)
  })

  it('SIGTERM exits with 0', async () => {
    const path = testFolder()
    const url = await served()
    const { process: child, ended } = startCli(['scheduler', '--url', url, '--key', KEY, '--json'], path)
    child.stdout?.once('data', () => child.kill('SIGTERM'))
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/"event":"scheduling"/) })
  })
})
