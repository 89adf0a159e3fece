import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AuthSettings } from '../../src/auth/credential.ts'
import { type Client, client, TaskFailed } from '../../src/client/index.ts'
import type { Settings } from '../../src/core/settings.ts'
import { isoTime } from '../../src/core/time.ts'
import { openGate } from '../../src/features/gate.ts'
import { MAX_SCHEDULES } from '../../src/scheduler/control.ts'
import type { ScheduleView } from '../../src/scheduler/schedule.ts'
import { openScheduler } from '../../src/scheduler/scheduler.ts'
import { openScheduleStore } from '../../src/scheduler/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { KEY, serveGate } from '../http/support.ts'
import { agent, ManualClock } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { only } from '../support/steps.ts'
import { silent, schedule as someSchedule } from './support.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const ADMIN_KEY = 'the-key-of-ann-for-tests'

/** Authentication modes of the server. The scheduler and agents have the shared key, if there is one. */
const MODES = {
  'without keys': { api_key: null, allow_insecure_dev: true },
  'with a shared key': { api_key: KEY, allow_insecure_dev: false },
  'with a shared key and keys of admins': {
    api_key: KEY,
    allow_insecure_dev: false,
    admin_keys: { ann: ADMIN_KEY },
  },
} as const satisfies Record<string, AuthSettings>

type Mode = keyof typeof MODES
const modes = Object.keys(MODES) as Mode[]

interface StartOptions {
  readonly mode?: Mode
  readonly settings?: Partial<Settings>
  /** The key of the scheduler; the shared key by default. */
  readonly key?: string
}

/** A server on a test clock, and schedulers on the same clock. */
async function start({ mode = 'without keys', settings = {}, ...options }: StartOptions = {}) {
  const auth: AuthSettings = MODES[mode]
  const shared = auth.api_key === null ? {} : { key: auth.api_key }
  const own = options.key === undefined ? shared : { key: options.key }
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-scheduler-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const clock = new ManualClock()
  const now = () => clock.now
  const store = await openSqliteStore({ path: join(folder, 'gate.db'), now })
  const gate = openGate({ store, settings, sweeping: false })
  const served = await serveGate(gate, { auth })
  cleanups.push(async () => {
    await served.close()
    await gate.close()
  })
  const schedule = async (file = 'scheduler.db', fetch?: typeof globalThis.fetch) => {
    const path = join(folder, file)
    const scheduler = await openScheduler({ url: served.url, ...own, path, logger: silent, now, fetch })
    const stopping = new AbortController()
    const ended = scheduler.run({ signal: stopping.signal })
    const stop = async () => {
      stopping.abort()
      await ended
    }
    cleanups.push(stop)
    return stop
  }
  const as = (name: string) => client({ url: served.url, ...shared, agent: name })
  const ann = client({ url: served.url, key: ADMIN_KEY })
  return { folder, clock, store, gate, served, schedule, as, alice: as('alice'), ann }
}

const PLAN = {
  name: 'hourly report',
  mode: 'interval',
  interval_seconds: 3600,
  task_template: { type: 'report', payload_template: { at: '{{run_at}}' }, priority: 3 },
}

type Created = { schedule_id: string; next_run_at: string }

const plan = (by: Client, changes: object = {}) => by.run<Created>('schedule.create', { ...PLAN, ...changes })

/** The error of a task that failed at its first attempt. */
async function failureOf(call: Promise<unknown>) {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof TaskFailed)) throw new Error('the task did not fail', { cause: thrown })
  expect(thrown.task.attempt).toBe(0)
  return thrown.task.result?.error
}

/** The tasks of the runs of a schedule, oldest first. */
async function runsOf(by: Client, schedule_id: string) {
  const tasks = []
  for await (const task of by.tasks({ labels: { schedule_id } })) tasks.push(task)
  return tasks.reverse()
}

/** Waits until a schedule has n runs. */
async function expectRuns(by: Client, schedule_id: string, count: number) {
  return vi.waitFor(
    async () => {
      const tasks = await runsOf(by, schedule_id)
      expect(tasks).toHaveLength(count)
      return tasks
    },
    { timeout: 10_000, interval: 50 },
  )
}

describe('the scheduler', () => {
  /** The strictest mode. */
  const mode = 'with a shared key and keys of admins'

  it.each(modes)('a schedule lives from its creation to its deletion, %s', async (mode) => {
    const { clock, store, gate, schedule, alice } = await start({ mode })
    await schedule()
    const { schedule_id, next_run_at } = await plan(alice)
    expect(next_run_at).toBe(isoTime(clock.now + 3600_000))
    const owed = only((await gate.listOpenObligations(agent())).open_obligations)
    expect(owed).toMatchObject({
      receipt_type: 'schedule.created',
      schedule_id,
      from: { kind: 'worker', id: 'scheduler' },
      body: { schedule: { name: 'hourly report', task_type: 'report' } },
    })

    clock.advance(3600)
    const run = only(await expectRuns(alice, schedule_id, 1))
    expect(run).toMatchObject({
      type: 'report',
      payload: { at: next_run_at },
      priority: 3,
      created_by: { kind: 'agent', id: 'alice' },
      principal_ai: 'alice',
      parent_task_id: schedule_id,
      caused_by_receipt_id: owed.receipt_id,
      idempotency_key: `schedule:${schedule_id}:${next_run_at}`,
      labels: { schedule_id },
    })
    expect(await alice.run('schedule.status', { schedule_id })).toMatchObject({
      enabled: true,
      next_run_at: isoTime(clock.now + 3600_000),
      last_run_at: next_run_at,
      last_status: 'created',
      task_template: PLAN.task_template,
    })

    expect(await alice.run('schedule.pause', { schedule_id })).toEqual({ ok: true })
    clock.advance(5 * 3600)
    expect(await alice.run('schedule.status', { schedule_id })).toMatchObject({
      enabled: false,
      next_run_at: null,
    })
    const resumed = await alice.run<Created>('schedule.resume', { schedule_id })
    expect(resumed).toEqual({ ok: true, next_run_at: isoTime(clock.now + 3600_000) })
    clock.advance(3600)
    expect((await expectRuns(alice, schedule_id, 2)).map((task) => task.payload)).toEqual([
      { at: next_run_at },
      { at: resumed.next_run_at },
    ])

    expect(await alice.run('schedule.delete', { schedule_id })).toEqual({ ok: true })
    const { open_obligations } = await gate.listOpenObligations(agent())
    expect(open_obligations.map((receipt) => receipt.receipt_type)).toEqual([
      'task.assigned',
      'task.assigned',
    ])
    expect(await gate.checkTerminator(agent(), { receipt_id: owed.receipt_id })).toMatchObject({
      has_terminator: true,
    })
    clock.advance(3600)
    await expect(alice.run('schedule.status', { schedule_id })).rejects.toThrow(/no such schedule/)
    expect(await runsOf(alice, schedule_id)).toHaveLength(2)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it('callers see only their own schedules', async () => {
    const { clock, schedule, as, alice } = await start({ mode })
    await schedule()
    const bob = as('bob')
    const first = await plan(alice)
    // Ids are ordered by time.
    clock.advance(1)
    const second = await plan(alice, {
      name: 'daily',
      mode: 'cron',
      interval_seconds: undefined,
      cron_expr: '@daily',
    })
    await plan(bob)
    type Page = { schedules: ScheduleView[]; next_cursor: string | null }
    const list = (by: Client, payload = {}) => by.run<Page>('schedule.list', payload)
    const page = await list(alice, { limit: 1 })
    expect(page).toMatchObject({
      schedules: [{ schedule_id: first.schedule_id }],
      next_cursor: first.schedule_id,
    })
    expect(await list(alice, { cursor: page.next_cursor })).toMatchObject({
      schedules: [{ schedule_id: second.schedule_id, name: 'daily', cron_expr: '@daily', status: 'enabled' }],
      next_cursor: null,
    })
    expect((await list(bob)).schedules).toHaveLength(1)
    for (const type of ['pause', 'resume', 'delete', 'status']) {
      const call = bob.run(`schedule.${type}`, { schedule_id: first.schedule_id })
      expect(await failureOf(call)).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    }
    expect((await list(alice)).schedules).toHaveLength(2)
  })

  it('an invalid request is refused permanently with the path', async () => {
    const { schedule, alice } = await start({ mode })
    await schedule()
    const bad = { mode: 'cron', cron_expr: '61 * * * *', interval_seconds: undefined }
    expect(await failureOf(plan(alice, bad))).toMatchObject({
      code: 'INVALID_INPUT',
      message: 'payload.cron_expr: invalid value for minute: 61',
      details: { path: 'cron_expr' },
    })
    expect(await failureOf(alice.run('schedule.delete', { schedule_id: 'none' }))).toMatchObject({
      code: 'SCHEDULE_NOT_FOUND',
    })
    // The scheduler publishes its task types, so the server refuses the payload.
    await vi.waitFor(
      () =>
        expect(alice.run('schedule.pause', {})).rejects.toMatchObject({
          code: 'VALIDATION_ERROR',
          details: { path: 'payload.schedule_id' },
        }),
      { timeout: 10_000 },
    )
  })

  it('the number of schedules per owner is limited', { timeout: 30_000 }, async () => {
    const { folder, schedule, as, alice } = await start({ mode })
    const store = await openScheduleStore(join(folder, 'scheduler.db'))
    for (let n = 0; n < MAX_SCHEDULES; n++)
      store.add(someSchedule({ schedule_id: `s${n}`, status: 'paused' }))
    store.close()
    await schedule()
    expect(await failureOf(plan(alice))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { limit: MAX_SCHEDULES },
    })
    expect(await plan(as('bob'))).toMatchObject({ schedule_id: expect.any(String) })
  })

  it('tasks that require the scheduler capability are accepted', async () => {
    const { schedule, alice } = await start({ mode })
    await schedule()
    const requirements = { capabilities: ['scheduler'] }
    expect(await alice.run('schedule.list', {}, { requirements })).toEqual({
      schedules: [],
      next_cursor: null,
    })
  })

  it('the tasks of a schedule belong to its creator and its principal_ai', async () => {
    const { clock, gate, schedule, as } = await start({ mode })
    await schedule()
    const planner = as('planner')
    const { schedule_id } = await planner.run<Created>('schedule.create', PLAN, { principal_ai: 'eve' })
    for (const who of [agent('planner'), agent('eve')]) {
      const { open_obligations } = await gate.listOpenObligations(who)
      expect(open_obligations.map((receipt) => receipt.schedule_id)).toEqual([schedule_id])
    }
    clock.advance(3600)
    const [run] = await expectRuns(planner, schedule_id, 1)
    expect(run).toMatchObject({ created_by: { id: 'planner' }, principal_ai: 'eve' })
    await planner.run('schedule.delete', { schedule_id })
    const { open_obligations } = await gate.listOpenObligations(agent('eve'))
    expect(open_obligations.map((receipt) => receipt.receipt_type)).toEqual(['task.assigned'])
  })

  it('a scheduler that lost its file can still close the obligation', async () => {
    const { gate, schedule, alice } = await start({ mode })
    const stop = await schedule('lost.db')
    const { schedule_id } = await plan(alice)
    await stop()
    await schedule('new.db')
    await expect(alice.run('schedule.status', { schedule_id })).rejects.toThrow(/no such schedule/)
    await alice.run('schedule.delete', { schedule_id })
    expect((await gate.listOpenObligations(agent())).open_obligations).toEqual([])
  })

  it.each(['scheduler.db', 'another.db'])(
    'a scheduler that dies before its report creates only one schedule, repeated with %s',
    { timeout: 30_000 },
    async (file) => {
      const { clock, gate, schedule, alice } = await start({ mode })
      // Requests that end the lease do not get through.
      const stop = await schedule('scheduler.db', (input, init) =>
        /complete|release/.test(String(input))
          ? Promise.reject(new TypeError('cut off'))
          : fetch(input, init),
      )
      const asked = await alice.submit<Created>('schedule.create', PLAN)
      const planned = () => alice.listReceipts({ receipt_type: 'schedule.created' })
      await vi.waitFor(async () => expect((await planned()).receipts).toHaveLength(1), { timeout: 10_000 })
      await stop()
      clock.advance(60)
      await gate.sweep()
      clock.advance(10)
      await schedule(file)
      const { schedule_id, next_run_at } = await asked.result()
      expect(schedule_id).toBe(asked.id)
      expect((await planned()).receipts).toHaveLength(1)
      expect(await alice.run('schedule.list', {})).toMatchObject({
        schedules: [{ schedule_id, next_run_at }],
      })
    },
  )

  it('a restarted scheduler catches up missed runs', async () => {
    const { clock, schedule, alice } = await start({ mode })
    const stop = await schedule()
    const { schedule_id } = await plan(alice, { misfire_policy: 'catch_up_all' })
    clock.advance(3600)
    await expectRuns(alice, schedule_id, 1)
    await stop()
    clock.advance(4 * 3600)
    await schedule()
    const runs = await expectRuns(alice, schedule_id, 5)
    expect(new Set(runs.map((task) => task.idempotency_key)).size).toBe(5)
    const { receipts } = await alice.listReceipts({ receipt_type: 'system.anomaly' })
    expect(only(receipts).body).toMatchObject({
      kind: 'stale_schedule',
      details: { schedule_id, reason: 'the scheduler did not run' },
    })
  })

  it('the owner gets an anomaly when the gate has refused a run for two intervals', async () => {
    const { clock, gate, schedule, alice } = await start({ mode, settings: { max_active_tasks: 1 } })
    await schedule()
    const { schedule_id, next_run_at } = await plan(alice)
    const blocker = await alice.createTask({ type: 'never done' })
    clock.advance(3600)
    const note = () => alice.listReceipts({ receipt_type: 'system.anomaly' })
    clock.advance(2 * 3600 + 1)
    const { receipts } = await vi.waitFor(
      async () => {
        const page = await note()
        expect(page.receipts).toHaveLength(1)
        return page
      },
      { timeout: 20_000, interval: 100 },
    )
    expect(receipts[0]).toMatchObject({
      from: { kind: 'service', id: 'asyncgate' },
      schedule_id,
      body: { kind: 'stale_schedule', details: { next_run_at } },
    })
    const { attention } = await gate.bootstrap(agent())
    expect(attention.anomalies).toHaveLength(1)
    await alice.cancelTask({ task_id: blocker.task_id })
    clock.advance(60)
    await expectRuns(alice, schedule_id, 1)
    expect((await note()).receipts).toHaveLength(1)
  })
})

describe('schedules of people with personal keys', () => {
  const mode = 'with a shared key and keys of admins'
  const HUMAN = { principal_kind: 'human', principal_id: 'ann' }
  const headers = { authorization: `Bearer ${KEY}` }

  it.each([
    ['the shared key', KEY],
    ['the key of a person', ADMIN_KEY],
  ])('schedules of people and agents run with %s', async (_, key) => {
    const { clock, schedule, alice, ann } = await start({ mode, key })
    await schedule()
    const hers = await plan(ann)
    const theirs = await plan(alice)
    clock.advance(3600)
    expect(only(await expectRuns(ann, hers.schedule_id, 1))).toMatchObject({
      created_by: { kind: 'human', id: 'ann' },
      principal_ai: 'ann',
      payload: { at: hers.next_run_at },
    })
    expect(only(await expectRuns(alice, theirs.schedule_id, 1))).toMatchObject({
      created_by: { kind: 'agent', id: 'alice' },
    })
    await ann.run('schedule.delete', { schedule_id: hers.schedule_id })
  })

  it('a scheduler cannot create other tasks in the name of a person', async () => {
    const { clock, schedule, served, alice, ann } = await start({ mode })
    await schedule()
    const { schedule_id, next_run_at } = await plan(ann)
    const { task_id } = await alice.createTask({ type: 'report', payload: PLAN })
    clock.advance(2 * 3600)
    await expectRuns(ann, schedule_id, 2)
    const run = async (id: string, run_at: string, more: object = {}) => {
      const body = { worker_id: 'scheduler', run_at, ...more }
      return (await served.post(`/v1/schedules/${id}/run`, body, headers)).body
    }
    expect(await run(schedule_id, next_run_at)).toMatchObject({ is_duplicate: true })
    expect(await run(schedule_id, next_run_at, { worker_id: 'w1' })).toMatchObject({ code: 'FORBIDDEN' })
    // Neither another time nor another task than those of the schedule.
    const odd = isoTime(Date.parse(next_run_at) + 1)
    expect(await run(schedule_id, odd)).toMatchObject({ code: 'VALIDATION_ERROR' })
    const future = isoTime(Date.parse(next_run_at) + 24 * 3600_000)
    expect(await run(schedule_id, future)).toMatchObject({ code: 'VALIDATION_ERROR' })
    expect(await run(schedule_id, next_run_at, { type: 'payment' })).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    // A task that no scheduler has recorded is not a schedule.
    expect(await run(task_id, next_run_at)).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    const direct = await served.post('/v1/tasks', { ...HUMAN, type: 'payment' }, headers)
    expect(direct.body).toMatchObject({ code: 'FORBIDDEN' })
    expect(await runsOf(ann, schedule_id)).toHaveLength(2)
    await ann.run('schedule.delete', { schedule_id })
    expect(await run(schedule_id, next_run_at)).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
  })
})

describe('two schedulers on one gate', () => {
  it.each([
    ['on one file', 'one.db', 'one.db'],
    ['on two files from one backup', 'one.db', 'two.db'],
  ])('schedulers %s fire each run once', async (_, first, second) => {
    const { clock, folder, schedule, alice, store } = await start()
    const stop = await schedule(first)
    const { schedule_id } = await plan(alice, {
      interval_seconds: 60,
      misfire_policy: 'catch_up_all',
      task_template: { type: 'report', payload_template: { made: '{{now_ms}}' } },
    })
    await stop()
    // A restored backup is a copy of the file.
    if (first !== second) copyFileSync(join(folder, first), join(folder, second))
    await schedule(first)
    await schedule(second)
    let expected = 0
    for (let n = 0; n < 3; n++) {
      clock.advance(60 * 5)
      expected += 5
      await expectRuns(alice, schedule_id, expected)
      clock.advance(-120)
      clock.advance(120)
    }
    const keys = (await runsOf(alice, schedule_id)).map((task) => task.idempotency_key)
    expect(new Set(keys).size).toBe(15)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })
})
