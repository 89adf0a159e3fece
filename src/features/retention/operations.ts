import { z } from 'zod'
import { isoOrNull } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { time } from '../input.ts'
import type { Services } from '../services.ts'
import { MAX_COUNTED } from './retention.ts'

const ACTIONS = ['run', 'pause', 'resume'] as const

const count = (what: string) => z.int().nonnegative().describe(what)

const retentionShape = z.object({
  state: z
    .enum(['idle', 'running', 'paused'])
    .describe('Whether retention is being applied. It starts by itself every hour unless it is paused'),
  task_retention_days: z
    .int()
    .nullable()
    .describe('Default retention of the contents of ended tasks, in days; null if it is unlimited'),
  receipt_retention_days: z
    .int()
    .nullable()
    .describe('Age at which receipts of ended tasks are archived, in days; null if they are not'),
  archive: z
    .enum(['disk', 's3'])
    .nullable()
    .describe('Where archives are stored; null if nothing is archived'),
  due: z
    .object({
      clear: count('Number of ended tasks whose contents can be removed now'),
      archive: count('Number of ended tasks that can be archived now, with their receipts'),
      more: z.boolean().describe('Whether the count stopped at its limit, so that both are lower bounds'),
    })
    .describe('What a run would do now'),
  last_run: z
    .object({
      started_at: time.nullable().describe('When the last run started; null if there was none'),
      finished_at: time.nullable().describe('When the last run finished; null if it did not'),
    })
    .describe('The current or last run'),
  cleared_tasks: count('Number of tasks whose contents were removed so far'),
  archived_tasks: count('Number of tasks that were archived so far'),
  archived_receipts: count('Number of receipts that were archived so far'),
  archive_files: count('Number of files in the archive'),
})

type RetentionView = z.output<typeof retentionShape>

export const getRetention = defineOperation({
  name: 'get_retention',
  title: 'Get the state of retention',
  description:
    'For admins: how long ended tasks and receipts of your tenant are stored, what can be removed or archived now, and what was so far.',
  input: z.strictObject({}),
  output: retentionShape,
  access: 'audit',
  rest: { method: 'GET', path: '/v1/retention' },
  run: async (services, caller) => viewOf(services, caller.tenant),
})

export const controlRetention = defineOperation({
  name: 'control_retention',
  title: 'Run, pause or resume retention',
  description:
    'For admins: starts to remove and archive what is due in your tenant, pauses it, or resumes it. With dry_run nothing changes: the response says what a run would do.',
  input: z.strictObject({
    action: z
      .enum(ACTIONS)
      .describe('run: start now; pause: stop after the current step; resume: allow it again'),
    dry_run: z.boolean().default(false).describe('Change nothing, and return what is due'),
  }),
  output: retentionShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/retention' },
  effect: WRITES_ONCE,
  auditSubject: 'action',
  example: { action: 'run', dry_run: true },
  async run(services, caller, { action, dry_run }) {
    const { engine, retention } = services
    if (!dry_run) {
      const tenant = await engine.tenant(caller.tenant)
      if (action === 'run') retention.wake(tenant)
      else await retention.setPaused(tenant.tenant, action === 'pause')
    }
    return viewOf(services, caller.tenant)
  },
})

async function viewOf({ engine, retention }: Services, name: string): Promise<RetentionView> {
  const { tenant } = await engine.tenant(name)
  const { record, due, archived, isRunning } = await retention.status(tenant)
  const { task_retention_days } = engine.settings
  const isArchiving = task_retention_days > 0 && retention.receiptDays > 0
  return {
    state: record.is_paused ? 'paused' : isRunning ? 'running' : 'idle',
    task_retention_days: task_retention_days === 0 ? null : task_retention_days,
    receipt_retention_days: isArchiving ? retention.receiptDays : null,
    archive: isArchiving ? (retention.archive.kind ?? null) : null,
    due: { ...due, more: due.clear + due.archive >= MAX_COUNTED },
    last_run: { started_at: isoOrNull(record.started_at), finished_at: isoOrNull(record.finished_at) },
    cleared_tasks: record.cleared_tasks,
    archived_tasks: record.archived_tasks,
    archived_receipts: record.archived_receipts,
    archive_files: archived.files,
  }
}
