import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { canonical, type Json } from '../../core/json/json.ts'
import { messageOf } from '../../util/error-message.ts'
import { checkTemplate } from './template.ts'
import { checkTimezone, parseCron, type Timing } from './timetable.ts'

export const MISFIRE_POLICIES = ['skip', 'catch_up_one', 'catch_up_all'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

const ONE_YEAR = 365 * 24 * 3600
const ONE_DAY = 24 * 3600

/** One less than a task may have: each run gets the label schedule_id. */
const MAX_LABELS = 31

const text = (max: number) => z.string().min(1).max(max)
const seconds = (min: number, max: number) => z.int().min(min).max(max)

/** The input of create_task with a payload template. A template that create_task would refuse is refused here. */
const taskTemplate = z.strictObject({
  type: text(255),
  payload_template: z.custom<Json>((value) => value !== undefined).optional(),
  summary: text(2000).optional(),
  requirements: z
    .strictObject({
      capabilities: z.array(text(128)).max(32).optional(),
      tags: z.array(text(128)).max(32).optional(),
    })
    .optional(),
  priority: z.int().min(-1000).max(1000).optional(),
  max_attempts: z.int().min(1).max(1000).optional(),
  max_expiries: z.int().min(1).max(1000).optional(),
  retry_backoff_seconds: seconds(0, ONE_YEAR).optional(),
  timeout_seconds: seconds(1, ONE_YEAR).optional(),
  retention_days: z.int().min(1).max(36_500).optional(),
  escalation_class: z.int().min(0).max(1000).optional(),
  session_id: text(255).optional(),
  labels: z
    .record(text(128), z.string().max(255))
    .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `has more than ${MAX_LABELS} entries`)
    .optional(),
  expected_outcome_kind: text(50).optional(),
  expected_artifact_mime: text(255).optional(),
})

export type TaskTemplate = z.output<typeof taskTemplate>

/** A requested schedule. It never changes. */
export interface Plan {
  readonly name: string
  readonly timing: Timing
  readonly task_template: TaskTemplate
  readonly misfire_policy: MisfirePolicy
  readonly jitter_seconds: number
}

/** The payload of schedule.create, parsed to a plan. */
export const planInput = z
  .strictObject({
    name: text(255),
    mode: z.enum(['interval', 'cron']),
    interval_seconds: seconds(1, ONE_YEAR).optional(),
    cron_expr: text(255).optional(),
    timezone: text(64).default('UTC'),
    task_template: taskTemplate,
    misfire_policy: z.enum(MISFIRE_POLICIES).default('catch_up_one'),
    jitter_seconds: seconds(0, ONE_DAY).default(0),
  })
  .transform((input, context): Plan => {
    const { mode, interval_seconds, cron_expr, timezone, ...rest } = input
    let path = 'task_template'
    try {
      checkTemplate(rest.task_template.payload_template ?? null, 'task_template.payload_template')
      canonical(rest.task_template, path)
      path = 'timezone'
      checkTimezone(timezone)
      path = mode === 'cron' ? 'cron_expr' : 'interval_seconds'
      return { ...rest, timing: timingOf(mode, interval_seconds, cron_expr, timezone) }
    } catch (error) {
      const isFault = error instanceof Fault
      const message = isFault ? String(error.details.problem) : messageOf(error)
      context.addIssue({
        code: 'custom',
        path: (isFault ? String(error.details.path) : path).split('.'),
        message,
      })
      return z.NEVER
    }
  })

function timingOf(
  mode: Timing['mode'],
  interval_seconds: number | undefined,
  cron_expr: string | undefined,
  timezone: string,
): Timing {
  if (mode === 'interval') {
    if (interval_seconds === undefined) throw new Error('is required with mode "interval"')
    if (cron_expr !== undefined)
      throw new Error('cannot be combined with cron_expr; use the one for the mode')
    return { mode, interval_seconds, timezone }
  }
  if (cron_expr === undefined) throw new Error('is required with mode "cron"')
  if (interval_seconds !== undefined) {
    throw new Error('cannot be combined with interval_seconds; use the one for the mode')
  }
  parseCron(cron_expr, timezone)
  return { mode, cron_expr, timezone }
}
