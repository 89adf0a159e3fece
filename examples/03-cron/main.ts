/**
 * A schedule that creates a report every second, and misses no run although its scheduler is killed.
 *
 *   npm run examples -- 03
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { client } from 'asyncgate/client'
import { task, worker } from 'asyncgate/worker'
import { z } from 'zod'
import { startGate } from '../gate.ts'

const gate = await startGate({ ASYNCGATE_SCHEDULER: 'external' })
console.log(`1. A gate runs at ${gate.url}.`)

async function startScheduler(): Promise<ChildProcess> {
  const db = join(gate.folder, 'scheduler.db')
  const args = [gate.main, 'scheduler', '--url', gate.url, '--db', db, '--log-level', 'error']
  const scheduler = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  // Also when the example fails.
  process.once('exit', () => scheduler.kill('SIGKILL'))
  await once(scheduler.stdout, 'data')
  return scheduler
}

const first = await startScheduler()
console.log('2. A scheduler stores its schedules in a separate file.')

const reports: string[] = []
const report = task('report', {
  input: z.object({ run_at: z.string() }),
  run({ run_at }) {
    reports.push(run_at)
    return { rows: reports.length }
  },
})
const reporter = worker({ url: gate.url, tasks: [report], workerId: 'reporter', logger: false })
const stopped = reporter.run()

// A schedule is created with a task. The agent that creates it owns the runs.
const alice = client({ url: gate.url, agent: 'alice' })
const { schedule_id } = await alice.run<{ schedule_id: string }>('schedule.create', {
  name: 'a report every second',
  mode: 'cron',
  cron_expr: '* * * * * *',
  timezone: 'Europe/Berlin',
  misfire_policy: 'catch_up_all',
  task_template: { type: 'report', payload_template: { run_at: '{{run_at}}' } },
})
console.log(`3. alice has a schedule: ${schedule_id}`)

const until = async (count: number) => {
  while (reports.length < count) await new Promise((resolve) => setTimeout(resolve, 50))
}
await until(2)
first.kill('SIGKILL')
console.log(`4. The scheduler is killed after ${reports.length} reports.`)
await new Promise((resolve) => setTimeout(resolve, 1500))
const second = await startScheduler()
await until(6)
console.log(`5. A second scheduler continued from there: ${reports.length} reports.`)

// Each second has exactly one run, including the time without a scheduler.
const seconds = reports.map((run_at) => Date.parse(run_at) / 1000).toSorted((a, b) => a - b)
const begin = seconds[0] ?? Number.NaN
seconds.forEach((at, n) => {
  if (at !== begin + n) throw new Error(`Run ${n} is missing or duplicated: ${seconds}`)
})
console.log('6. Every second has its report, exactly once.')

for await (const owed of alice.obligations()) {
  if (owed.schedule_id !== null) console.log(`7. The schedule is an open obligation: ${owed.receipt_type}`)
}
await alice.run('schedule.delete', { schedule_id })
for await (const owed of alice.obligations()) {
  if (owed.schedule_id !== null) throw new Error('The schedule is deleted, but its obligation is still open.')
}
console.log('8. alice has deleted the schedule, and its obligation is closed.')

second.kill('SIGTERM')
await once(second, 'close')
reporter.stop()
await stopped
await gate.stop()
console.log('9. All processes have stopped.')
