import { expect, it } from 'vitest'
import { isoTime } from '../../../src/core/time.ts'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { recordedSchedule as schedule } from '../../support/schedules.ts'
import { ask, claim, held, lease, look, receiptsOf, refusal } from '../../support/steps.ts'

const HOUR = 3600_000
const operator = () => caller('human', 'olga', 'operator')

describeGates('schedules of all owners', (open, storeName) => {
  it('operators see the schedules of all owners, agents their own', async () => {
    const { gate, clock } = await open()
    const first = isoTime(clock.now + HOUR)
    const { schedule_id } = await schedule(gate)
    clock.advance(1)
    const daily = {
      name: 'daily',
      mode: 'cron',
      interval_seconds: undefined,
      cron_expr: '0 9 * * 1-5',
      timezone: 'Europe/Berlin',
    }
    await schedule(gate, daily, agent('bob'))
    const { schedules } = await gate.listSchedules(operator(), {})
    expect(schedules).toMatchObject([
      { schedule_id, name: 'hourly', created_by: { kind: 'agent', id: 'alice' }, when: 'every hour' },
      { name: 'daily', created_by: { id: 'bob' }, when: 'every weekday at 09:00 Europe/Berlin' },
    ])
    expect(schedules[0]).toMatchObject({ next_run_at: first, last_run_at: null })
    const own = await gate.listSchedules(agent(), {})
    expect(own.schedules.map(({ name }) => name)).toEqual(['hourly'])
    const ofBob = await gate.listSchedules(admin(), { created_by: 'agent:bob' })
    expect(ofBob.schedules.map(({ name }) => name)).toEqual(['daily'])
    expect(await refusal(gate.getSchedule(agent('bob'), { schedule_id }))).toMatchObject({
      code: 'SCHEDULE_NOT_FOUND',
    })
  })

  it('the pages of the list contain every schedule once', async () => {
    const { gate, clock } = await open()
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await schedule(gate, { name })
      clock.advance(1)
    }
    const names: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Awaited<ReturnType<Gate['listSchedules']>> = await gate.listSchedules(admin(), {
        limit: 2,
        ...(cursor !== '' && { cursor }),
      })
      names.push(...page.schedules.map(({ name }) => name))
      cursor = page.next_cursor
    }
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('a schedule shows its next five runs, its last run and why a run failed', async () => {
    const { gate, clock } = await open({ settings: { max_active_tasks: 1 } })
    const { schedule_id } = await schedule(gate)
    const first = clock.now + HOUR
    const runs = [0, 1, 2, 3, 4].map((n) => isoTime(first + n * HOUR))
    expect(await gate.getSchedule(admin(), { schedule_id })).toMatchObject({
      next_runs: runs,
      task_template: { type: 'tick', payload_template: { at: '{{run_at}}' } },
    })
    clock.advance(3600)
    const run = (run_at: string) => gate.runSchedule(worker(), { worker_id: 'w1', schedule_id, run_at })
    await run(isoTime(first))
    expect(await gate.getSchedule(admin(), { schedule_id })).toMatchObject({
      last_run_at: isoTime(first),
      next_run_at: isoTime(first + HOUR),
      last_error: null,
    })
    clock.advance(3600)
    expect(await refusal(run(isoTime(first + HOUR)))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(await gate.getSchedule(admin(), { schedule_id })).toMatchObject({
      last_run_at: isoTime(first),
      last_error: 'QUOTA_EXCEEDED',
    })
  })

  it('running a schedule now creates one task of its owner for a key, however often it is sent', async () => {
    const { gate, clock, another } = await open()
    const second = storeName === 'sqlite' ? gate : (await another()).gate
    const { schedule_id, receipt_id } = await schedule(gate)
    const asked = { schedule_id, idempotency_key: 'click-1' }
    const now = isoTime(clock.now)
    const answers = await Promise.all([
      gate.runScheduleNow(operator(), asked),
      second.runScheduleNow(operator(), asked),
      gate.runScheduleNow(admin(), asked),
    ])
    clock.advance(60)
    answers.push(await gate.runScheduleNow(agent(), asked))
    expect(new Set(answers.map(({ task_id }) => task_id)).size).toBe(1)
    expect(answers.filter(({ is_duplicate }) => !is_duplicate)).toHaveLength(1)
    const [created] = answers
    if (created === undefined) return expect.unreachable()
    expect(await look(gate, created)).toMatchObject({
      type: 'tick',
      created_by: { kind: 'agent', id: 'alice' },
      payload: { at: now },
      labels: { schedule_id, team: 'ops' },
      parent_task_id: schedule_id,
    })
    const [assigned] = await receiptsOf(gate, created)
    expect(assigned).toMatchObject({ receipt_type: 'task.assigned', parents: [receipt_id] })
    const other = await gate.runScheduleNow(operator(), { schedule_id, idempotency_key: 'click-2' })
    expect(other.is_duplicate).toBe(false)
  })

  it('what an operator does with the schedule of another owner is in the audit log', async () => {
    const { gate } = await open()
    const { schedule_id } = await schedule(gate)
    await gate.runScheduleNow(agent(), { schedule_id, idempotency_key: 'own' })
    await gate.runScheduleNow(operator(), { schedule_id, idempotency_key: 'theirs' })
    await gate.pauseSchedule(operator(), { schedule_id })
    const { events } = await gate.listAudit(admin(), { event: 'admin_action' })
    expect(events.map(({ principal, subject, details }) => [principal, subject, details.operation])).toEqual([
      ['human:olga', schedule_id, 'pause_schedule'],
      ['human:olga', schedule_id, 'run_schedule_now'],
    ])
  })

  it('pausing and resuming create control tasks of the owner for the scheduler', async () => {
    const { gate } = await open()
    const { schedule_id } = await schedule(gate)
    for (const [pause, type, event, status] of [
      [true, 'schedule.pause', 'paused', 'paused'],
      [false, 'schedule.resume', 'resumed', 'enabled'],
    ] as const) {
      const { task_id } = await gate.pauseSchedule(operator(), { schedule_id, pause })
      expect(await look(gate, { task_id })).toMatchObject({
        type,
        payload: { schedule_id },
        created_by: { id: 'alice' },
      })
      const [offer] = await claim(gate, { accept_types: [type] })
      if (offer === undefined) return expect.unreachable()
      await gate.recordSchedule(worker(), { ...held(offer), schedule_id, event })
      expect(await gate.getSchedule(admin(), { schedule_id })).toMatchObject({ status })
    }
    expect((await gate.getSchedule(admin(), { schedule_id })).next_runs).toHaveLength(5)
  })

  it('a deleted schedule is not listed and cannot be run or paused', async () => {
    const { gate } = await open()
    const { schedule_id } = await schedule(gate)
    await ask(gate, { type: 'schedule.delete' })
    const offer = await lease(gate, { accept_types: ['schedule.delete'] })
    await gate.recordSchedule(worker(), { ...held(offer), schedule_id, event: 'deleted' })
    expect((await gate.listSchedules(admin(), {})).schedules).toEqual([])
    const absent = { code: 'SCHEDULE_NOT_FOUND' }
    expect(await refusal(gate.getSchedule(admin(), { schedule_id }))).toMatchObject(absent)
    expect(await refusal(gate.pauseSchedule(admin(), { schedule_id }))).toMatchObject(absent)
    const run = gate.runScheduleNow(admin(), { schedule_id, idempotency_key: 'x' })
    expect(await refusal(run)).toMatchObject(absent)
  })

  it('viewers see schedules and cannot control them', async () => {
    const { gate } = await open()
    const { schedule_id } = await schedule(gate)
    const viewer = caller('human', 'vic', 'viewer')
    expect((await gate.listSchedules(viewer, {})).schedules).toHaveLength(1)
    const forbidden = { code: 'FORBIDDEN' }
    expect(await refusal(gate.pauseSchedule(viewer, { schedule_id }))).toMatchObject(forbidden)
    const run = gate.runScheduleNow(viewer, { schedule_id, idempotency_key: 'x' })
    expect(await refusal(run)).toMatchObject(forbidden)
  })
})
