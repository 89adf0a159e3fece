import { z } from 'zod'
import type { Client } from '../../client.ts'
import { CliError, EXIT, type ExitCode } from '../../exit.ts'
import { type Output, ProgressLine } from '../../output.ts'
import { createdShape, taskShape } from '../tasks/tasks.ts'

/** How long a scheduler may take. It takes moments if there is one. */
const WAIT_SECONDS = 10

const waitedShape = taskShape.extend({ done: z.boolean() })
const canceledShape = z.looseObject({ ok: z.boolean() })
const failureShape = z.looseObject({ code: z.string().optional(), message: z.string().optional() })

/** As much of a schedule as is shown here; a newer scheduler may say more. */
export const scheduleShape = z.looseObject({
  schedule_id: z.string(),
  name: z.string(),
  mode: z.string(),
  interval_seconds: z.number().optional(),
  cron_expr: z.string().optional(),
  timezone: z.string(),
  task_type: z.string(),
  misfire_policy: z.string(),
  jitter_seconds: z.number(),
  status: z.string(),
  created_at: z.string(),
  next_run_at: z.string().nullable(),
  last_run_at: z.string().nullable(),
  last_status: z.string().nullable(),
})

export type ScheduleInfo = z.output<typeof scheduleShape>

/** Asks a scheduler with a control task, and waits for what it says. */
export async function ask<Shape extends z.ZodType>(
  client: Client,
  type: string,
  payload: object,
  shape: Shape,
): Promise<z.output<Shape>> {
  const { task_id } = await client.post('/v1/tasks', { type, payload }, createdShape)
  const line = new ProgressLine()
  line.show('waiting for a scheduler')
  const path = `/v1/tasks/${task_id}`
  const wait = (wait_seconds: number) => client.get(`${path}/wait`, { wait_seconds }, waitedShape)
  let task = await wait(WAIT_SECONDS)
  line.clear()
  if (!task.done) {
    const canceled = await client.post(`${path}/cancel`, { reason: 'No scheduler took it.' }, canceledShape)
    if (canceled.ok) {
      throw new CliError(
        EXIT.failure,
        `No scheduler has answered within ${WAIT_SECONDS} s. The request was withdrawn.`,
        'Start one with "asyncgate scheduler".',
      )
    }
    task = await wait(0)
  }
  if (task.status !== 'succeeded') throw failure(task.result?.error)
  return shape.parse(task.result?.result)
}

function failure(error: unknown): CliError {
  const { code, message = 'It failed.' } = failureShape.safeParse(error).data ?? {}
  const body = typeof error === 'object' && error !== null ? error : undefined
  return new CliError(
    exitCodeOf(code),
    code === undefined ? message : `${message} (${code})`,
    undefined,
    body,
  )
}

function exitCodeOf(code: string | undefined): ExitCode {
  if (code === 'SCHEDULE_NOT_FOUND') return EXIT.notFound
  return code === 'INVALID_INPUT' ? EXIT.usage : EXIT.failure
}

/** `every 60 s`, or the expression and its time zone. */
export function tellTiming({ mode, interval_seconds, cron_expr, timezone }: ScheduleInfo): string {
  return mode === 'interval' ? `every ${interval_seconds} s` : `${cron_expr} ${timezone}`
}

export function tellSchedule(output: Output, schedule: ScheduleInfo): void {
  const lines: [string, string][] = [
    ['schedule', schedule.schedule_id],
    ['name', schedule.name],
    ['status', schedule.status],
    ['runs', tellTiming(schedule)],
    ['jitter', schedule.jitter_seconds === 0 ? '' : `up to ${schedule.jitter_seconds} s`],
    ['missed', schedule.misfire_policy],
    ['task', schedule.task_type],
    ['created', schedule.created_at],
    ['next run', schedule.next_run_at ?? 'none'],
    ['last run', schedule.last_run_at === null ? '' : `${schedule.last_run_at}: ${schedule.last_status}`],
    ['trouble', schedule.last_run_at === null ? (schedule.last_status ?? '') : ''],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
}
