/**
 * A nightly report whose schedule is in the code of its worker. The server runs the scheduler itself.
 *
 *   npm run examples -- 09
 */
import { client } from 'asyncgate/client'
import { task, worker } from 'asyncgate/worker'
import { startGate } from '../gate.ts'

// `asyncgate dev` has an embedded scheduler; a server has one with ASYNCGATE_SCHEDULER=embedded.
const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

const nightly = task('nightly_report', {
  description: 'Makes the report of the day.',
  cron: '0 6 * * *',
  timezone: 'Europe/Berlin',
  cronPayload: { day: '{{run_at}}' },
  run: (_, ctx) => {
    ctx.log.info('the report is ready')
    return { rows: 42 }
  },
})
const reporter = worker({ url: gate.url, tasks: [nightly], workerId: 'reporter', logger: false })
const stopped = reporter.run()

// The agent that owns the schedules of code.
const owner = client({ url: gate.url, agent: 'schedules' })
const registered = async () => {
  for (;;) {
    const { schedules } = await owner.listSchedules({})
    const [schedule] = schedules
    if (schedule !== undefined) return schedule
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
const { schedule_id, when, next_run_at } = await registered()
console.log(`2. The worker has registered its schedule: ${when}, next at ${next_run_at}.`)

// Nobody waits until the morning: one run is requested now.
const { task_id } = await owner.runScheduleNow({ schedule_id, idempotency_key: 'first' })
const report = await owner.wait(task_id)
console.log(`3. A run was requested now. It ${report.status} with ${JSON.stringify(report.result?.result)}.`)
if (report.status !== 'succeeded') throw new Error('The report did not succeed.')

await reporter.stop()
await stopped
await gate.stop()
console.log('4. The worker and the gate have stopped. The schedule stays in the database.')
