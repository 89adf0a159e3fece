import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { recordedSchedule } from '../support/schedules.ts'
import { finish, held, lease } from '../support/steps.ts'
import { actionsOf, hiddenFields, servePages, viewerOf, wordsOf } from './support.ts'

const BERLIN = {
  mode: 'cron',
  cron_expr: '30 2 * * *',
  timezone: 'Europe/Berlin',
  interval_seconds: undefined,
}
const HOSTILE = `n"><script>alert(1)</script>\u202E`

describeGates(
  'schedules in the console',
  (open) => {
    it('schedules are listed in words, by owner', async () => {
      const { gate, clock } = await open()
      const visitor = (await servePages(gate)).visitor()
      const empty = await visitor.get('/schedules')
      expect(wordsOf(empty.text)).toContain('There are no schedules.')
      expect(empty.text).toContain('asyncgate schedules create hourly')
      await recordedSchedule(gate)
      clock.advance(1)
      await recordedSchedule(gate, { name: 'nightly', ...BERLIN }, agent('bob'))
      const words = wordsOf((await visitor.get('/schedules')).text)
      expect(words).toMatch(/hourly every hour enabled .* tick agent: alice .*never/)
      expect(words).toMatch(/nightly every day at 02:30 Europe\/Berlin enabled .* tick agent: bob/)
      const ofBob = wordsOf((await visitor.get('/schedules?owner=agent%3Abob')).text)
      expect(ofBob).toContain('nightly')
      expect(ofBob).not.toContain('hourly')
      expect(wordsOf((await visitor.get('/schedules?owner=carl')).text)).toContain(
        'No schedule has this owner.',
      )
    })

    it('a schedule shows its next five runs in its time zone and the task of each run', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const { schedule_id } = await recordedSchedule(gate, { name: 'nightly', ...BERLIN })
      const { text } = await visitor.get(`/schedules/${schedule_id}`)
      expect(wordsOf(text)).toMatch(/Every day at 02:30 Europe\/Berlin/)
      expect(text.match(/, 02:30 Europe\/Berlin/g)).toHaveLength(5)
      expect(wordsOf(text)).toContain('"at": "{{run_at}}"')
      expect((await visitor.get('/schedules/nope')).status).toBe(404)
    })

    it('a schedule runs now, once for each page, and its task is listed', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const { schedule_id } = await recordedSchedule(gate)
      const path = `/schedules/${schedule_id}`
      const form = hiddenFields((await visitor.get(path)).text, `${path}/run`)
      const [first, second] = [
        await visitor.post(`${path}/run`, form),
        await visitor.post(`${path}/run`, form),
      ]
      expect(second.headers.location).toBe(first.headers.location)
      expect(wordsOf((await visitor.follow(first)).text)).toContain('This is the task of the run.')
      const { tasks } = await gate.listTasks(admin(), { type: 'tick' })
      expect(tasks).toHaveLength(1)
      expect((await visitor.get(path)).text).toContain(`href="/console/tasks/${tasks[0]?.task_id}"`)
      await visitor.submit(path, `${path}/run`)
      expect((await gate.listTasks(admin(), { type: 'tick' })).tasks).toHaveLength(2)
    })

    it('a schedule is paused and resumed by its scheduler', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const { schedule_id } = await recordedSchedule(gate)
      const path = `/schedules/${schedule_id}`
      const paused = await visitor.submit(path, `${path}/pause`)
      expect(wordsOf((await visitor.follow(paused)).text)).toContain('Pausing.')
      const offer = await lease(gate, { accept_types: ['schedule.pause'] })
      await gate.recordSchedule(worker(), { ...held(offer), schedule_id, event: 'paused' })
      await finish(gate, offer)
      expect(wordsOf((await visitor.get(path)).text)).toMatch(
        /hourly paused .*Resume .*The schedule is paused\./,
      )
      await visitor.submit(path, `${path}/pause`)
      expect(await lease(gate, { accept_types: ['schedule.resume'] })).toMatchObject({
        type: 'schedule.resume',
      })
    })

    it('a viewer sees schedules and no buttons', async () => {
      const { gate } = await open()
      const { schedule_id } = await recordedSchedule(gate)
      const viewer = await viewerOf(gate)
      for (const path of ['/schedules', `/schedules/${schedule_id}`]) {
        const page = await viewer.get(path)
        expect(wordsOf(page.text)).toContain('hourly')
        expect(actionsOf(page.text)).toEqual([])
      }
    })

    it('the texts of a schedule are shown as text', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const task_template = { type: HOSTILE, payload_template: { [HOSTILE]: HOSTILE } }
      const { schedule_id } = await recordedSchedule(gate, { name: HOSTILE, task_template }, agent(HOSTILE))
      for (const path of ['/schedules', `/schedules/${schedule_id}`]) {
        const { text, status } = await visitor.get(path)
        expect(status).toBe(200)
        expect(text).not.toContain('<script>')
        expect(text).not.toContain('\u202E')
      }
    })
  },
  ['sqlite'],
)
