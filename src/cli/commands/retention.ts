import type { z } from 'zod'
import type { getRetention } from '../../features/retention/operations.ts'
import { serverCommand } from '../client.ts'
import { flag } from '../input.ts'
import type { Output } from '../output.ts'

type Retention = z.output<typeof getRetention.output>

const status = serverCommand({
  name: 'retention status',
  summary: 'Show how long tasks and receipts are stored, and what is due. It needs an admin.',
  options: {},
  async run(client, _, output) {
    const retention = await client.call('getRetention', {})
    output.result(retention, () => print(output, retention))
  },
})

const run = serverCommand({
  name: 'retention run',
  summary: 'Remove and archive what is due now, in the background. It needs an admin.',
  options: { 'dry-run': flag('change nothing, and show what is due') },
  async run(client, input, output) {
    const retention = await client.call('controlRetention', { action: 'run', dry_run: input.flag('dry-run') })
    output.result(retention, () => print(output, retention))
  },
})

const pause = serverCommand({
  name: 'retention pause',
  summary: 'Stop removing and archiving after the current step, on all servers. It needs an admin.',
  options: {},
  async run(client, _, output) {
    const retention = await client.call('controlRetention', { action: 'pause' })
    output.result(retention, () => print(output, retention))
  },
})

const resume = serverCommand({
  name: 'retention resume',
  summary: 'Allow removing and archiving again. It needs an admin.',
  options: {},
  async run(client, _, output) {
    const retention = await client.call('controlRetention', { action: 'resume' })
    output.result(retention, () => print(output, retention))
  },
})

export const commands = [status, run, pause, resume]

function print(output: Output, retention: Retention): void {
  const { due, last_run } = retention
  const rows: readonly (readonly [string, string | number])[] = [
    ['State', retention.state],
    ['Contents of ended tasks', daysOf(retention.task_retention_days)],
    ['Receipts before they are archived', daysOf(retention.receipt_retention_days)],
    ['Archive', retention.archive ?? 'off'],
    ['Tasks to be cleared now', atLeast(due.clear, due.more)],
    ['Tasks to be archived now', atLeast(due.archive, due.more)],
    ['Last run', last_run.finished_at ?? last_run.started_at ?? 'never'],
    ['Cleared tasks', retention.cleared_tasks],
    ['Archived tasks', retention.archived_tasks],
    ['Archived receipts', retention.archived_receipts],
    ['Archive files', retention.archive_files],
  ]
  output.table(['RETENTION', ''], rows, '')
}

function daysOf(days: number | null): string {
  return days === null ? 'unlimited' : `${days} days`
}

function atLeast(count: number, more: boolean): string {
  return more ? `${count} or more` : String(count)
}
