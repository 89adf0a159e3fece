import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { canonical, type Json } from '../../core/json/json.ts'
import { messageOf } from '../../util/error-message.ts'
import { checkTimezone, parseCron } from './cron.ts'
import { checkTemplate } from './template.ts'

export const MISFIRE_POLICIES = ['skip', 'catch_up_one', 'catch_up_all'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

/** When a schedule runs. An interval is as long in every time zone. */
export type Timing =
  | { readonly mode: 'interval'; readonly interval_seconds: number; readonly timezone: string }
  | { readonly mode: 'cron'; readonly cron_expr: string; readonly timezone: string }

/** The task that each run creates: the input of create_task, with a payload that is yet to be filled in. */
export interface TaskTemplate {
  readonly type: string
  readonly payload_template?: Json | undefined
  readonly summary?: string | undefined
  readonly requirements?:
    | { readonly capabilities?: readonly string[] | undefined; readonly tags?: readonly string[] | undefined }
    | undefined
  readonly priority?: number | undefined
  readonly max_attempts?: number | undefined
  readonly max_expiries?: number | undefined
  readonly retry_backoff_seconds?: number | undefined
  readonly timeout_seconds?: number | undefined
  readonly session_id?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly expected_outcome_kind?: string | undefined
  readonly expected_artifact_mime?: string | undefined
}

/** What somebody asked for. It never changes. */
export interface Plan {
  readonly name: string
  readonly timing: Timing
  readonly task_template: TaskTemplate
  readonly misfire_policy: MisfirePolicy
  readonly jitter_seconds: number
}

const ONE_YEAR = 365 * 24 * 3600
const ONE_DAY = 24 * 3600

/** One less than a task may have: each run gets the label schedule_id. */
const MAX_LABELS = 31

const text = (max: number) => z.string().min(1).max(max)
const seconds = (min: number, max: number) => z.int().min(min).max(max)

/** As create_task takes them; a template that it would refuse at every run is refused here. */
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
  session_id: text(255).optional(),
  labels: z
    .record(text(128), z.string().max(255))
    .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `has more than ${MAX_LABELS} entries`)
    .optional(),
  expected_outcome_kind: text(50).optional(),
  expected_artifact_mime: text(255).optional(),
}) satisfies z.ZodType<TaskTemplate>

/** The payload of schedule.create, as the plan that it describes. */
export const planInput = z
  .strictObject({
    name: text(255),
    mode: z.enum(['interval', 'cron']),
    interval_seconds: seconds(1, ONE_YEAR).optional(),
    cron_expr: text(255).optional(),
    timezone: text(64).optional(),
    task_template: taskTemplate,
    misfire_policy: z.enum(MISFIRE_POLICIES).optional(),
    jitter_seconds: seconds(0, ONE_DAY).optional(),
  })
  .transform((asked, context): Plan => {
    const complain = (path: string, error: unknown) => {
      const message = error instanceof Fault ? String(error.details.problem) : messageOf(error)
      context.addIssue({ code: 'custom', path: path.split('.'), message })
      return z.NEVER
    }
    const { task_template } = asked
    try {
      checkTemplate(task_template.payload_template ?? null, 'task_template.payload_template')
      canonical(task_template, 'task_template')
    } catch (error) {
      return complain(error instanceof Fault ? String(error.details.path) : 'task_template', error)
    }
    try {
      checkTimezone(asked.timezone ?? 'UTC')
    } catch (error) {
      return complain('timezone', error)
    }
    try {
      return {
        name: asked.name,
        timing: timingOf(asked),
        task_template,
        misfire_policy: asked.misfire_policy ?? 'catch_up_one',
        jitter_seconds: asked.jitter_seconds ?? 0,
      }
    } catch (error) {
      return complain(asked.mode === 'cron' ? 'cron_expr' : 'interval_seconds', error)
    }
  })

interface AskedTiming {
  readonly mode: Timing['mode']
  readonly interval_seconds?: number | undefined
  readonly cron_expr?: string | undefined
  readonly timezone?: string | undefined
}

function timingOf({ mode, interval_seconds, cron_expr, timezone = 'UTC' }: AskedTiming): Timing {
  if (mode === 'interval') {
    if (interval_seconds === undefined) throw new Error('is required with mode "interval"')
    if (cron_expr !== undefined) throw new Error('stands beside a cron_expr; give the one that mode says')
    return { mode, interval_seconds, timezone }
  }
  if (cron_expr === undefined) throw new Error('is required with mode "cron"')
  if (interval_seconds !== undefined) {
    throw new Error('stands beside interval_seconds; give the one that mode says')
  }
  parseCron(cron_expr, timezone)
  return { mode, cron_expr, timezone }
}
