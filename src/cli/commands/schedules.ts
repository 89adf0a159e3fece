import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { GetScheduleAnswer } from '../../client/operations.ts'
import { isObject } from '../../util/guards.ts'
import { type Client, serverCommand } from '../client.ts'
import { CliError, EXIT, type ExitCode } from '../exit.ts'
import { text, texts, unlessEmpty } from '../input.ts'
import { type Output, ProgressLine } from '../output.ts'
import { textField } from './tasks/print.ts'

type Schedule = GetScheduleAnswer

/** Time limit for the response of a scheduler, which normally takes milliseconds. */
const WAIT_SECONDS = 10

const createdShape = z.looseObject({ schedule_id: z.string(), next_run_at: z.string().nullable() })
const changedShape = z.looseObject({ ok: z.boolean(), next_run_at: z.string().nullable().optional() })

const list = serverCommand({
  name: 'schedules list',
  summary: 'List schedules: your own, or those of all owners as an operator.',
  options: {
    owner: text('KIND:ID', 'only schedules of this owner'),
    limit: text('N', 'maximum number of results, up to 200; default 50'),
    cursor: text('CURSOR', 'the cursor that the previous page ended with'),
  },
  async run(client, input, output) {
    const page = await client.call('listSchedules', {
      created_by: input.text('owner'),
      limit: input.integer('limit'),
      cursor: input.text('cursor'),
    })
    output.result(page, () => {
      output.table(
        ['SCHEDULE', 'STATUS', 'OWNER', 'NAME', 'RUNS', 'TASK', 'NEXT', 'LAST ERROR'],
        page.schedules.map((schedule) => [
          schedule.schedule_id,
          schedule.status,
          ownerOf(schedule),
          schedule.name.slice(0, 40),
          schedule.when,
          schedule.task_type,
          schedule.next_run_at,
          schedule.last_error,
        ]),
        'There are no schedules.',
      )
      output.nextPage(page.next_cursor)
    })
  },
})

const show = serverCommand({
  name: 'schedules show',
  summary: 'Show a schedule with its next and its last runs.',
  takes: ['SCHEDULE_ID'],
  options: { runs: text('N', 'number of last runs to show, up to 200; default 10') },
  async run(client, input, output) {
    const schedule_id = input.arg(0)
    const schedule = await client.call('getSchedule', { schedule_id })
    const limit = input.integer('runs') ?? 10
    const { tasks } = await client.call('listTasks', {
      labels: { schedule_id },
      created_by: ownerOf(schedule),
      limit,
    })
    output.result({ ...schedule, runs: tasks }, () => {
      printSchedule(output, schedule)
      if (tasks.length === 0) return
      output.print()
      output.table(
        ['TASK', 'STATUS', 'CREATED'],
        tasks.map((task) => [task.task_id, task.status, task.created_at]),
      )
    })
  },
})

const run = serverCommand({
  name: 'schedules run',
  summary: 'Run a schedule now, besides its planned runs. It needs no running scheduler.',
  takes: ['SCHEDULE_ID'],
  options: { 'run-key': text('KEY', 'repeating the command with the same key creates no second task') },
  async run(client, input, output) {
    const schedule_id = input.arg(0)
    const idempotency_key = input.text('run-key') ?? randomUUID()
    const created = await client.call('runScheduleNow', { schedule_id, idempotency_key })
    output.result(created, () => output.print(`${created.task_id} is ${created.status}`))
  },
})

const create = serverCommand({
  name: 'schedules create',
  summary: 'Create a schedule that creates a task at an interval, or by a cron expression.',
  takes: ['NAME'],
  options: {
    every: text('SECONDS', 'run at this interval'),
    cron: text('EXPRESSION', `run by these fields, as in '30 2 * * *'`),
    timezone: text('ZONE', 'time zone of the cron expression, as in Europe/Berlin; default UTC'),
    type: text('TYPE', 'type of the tasks that the runs create'),
    payload: text(
      'JSON',
      'their payload, with {{run_at}}, {{now}} and {{schedule_id}}; @FILE reads a file, - standard input',
    ),
    priority: text('N', 'their priority, from -1000 to 1000, higher first'),
    capability: texts('NAME', 'capability that a worker must have'),
    label: texts('KEY=VALUE', 'label to find the tasks by'),
    misfire: text('POLICY', 'skip, catch_up_one or catch_up_all; default catch_up_one'),
    jitter: text('SECONDS', 'maximum random delay of each run'),
  },
  async run(client, input, output) {
    const every = input.integer('every')
    const cron = input.text('cron')
    const type = input.text('type')
    const capabilities = input.texts('capability')
    if ((every === undefined) === (cron === undefined))
      throw input.usageError('Give either --every or --cron.')
    if (type === undefined) throw input.usageError('--type is missing.')
    const schedule = {
      name: input.arg(0),
      ...(cron === undefined
        ? { mode: 'interval', interval_seconds: every }
        : { mode: 'cron', cron_expr: cron }),
      timezone: input.text('timezone'),
      task_template: {
        type,
        payload_template: input.json('payload'),
        priority: input.integer('priority'),
        requirements: capabilities.length > 0 ? { capabilities } : undefined,
        labels: unlessEmpty(input.pairs('label')),
      },
      misfire_policy: input.text('misfire'),
      jitter_seconds: input.integer('jitter'),
    }
    const created = await callScheduler(client, 'schedule.create', schedule, createdShape)
    output.result(created, () => output.print(`${created.schedule_id} runs first at ${created.next_run_at}`))
  },
})

type Changed = z.output<typeof changedShape>

function pauseCommand(verb: 'pause' | 'resume', summary: string, done: (to: Changed) => string) {
  return serverCommand({
    name: `schedules ${verb}`,
    summary,
    takes: ['SCHEDULE_ID'],
    async run(client, input, output) {
      const schedule_id = input.arg(0)
      const { task_id } = await client.call('pauseSchedule', { schedule_id, pause: verb === 'pause' })
      const changed = await resultOf(client, task_id, changedShape)
      output.result(changed, () => output.print(`${schedule_id} ${done(changed)}`))
    },
  })
}

const remove = serverCommand({
  name: 'schedules delete',
  summary: 'Delete a schedule of yours.',
  takes: ['SCHEDULE_ID'],
  async run(client, input, output) {
    const schedule_id = input.arg(0)
    const changed = await callScheduler(client, 'schedule.delete', { schedule_id }, changedShape)
    output.result(changed, () => output.print(`${schedule_id} is deleted`))
  },
})

export const commands = [
  list,
  show,
  create,
  run,
  pauseCommand(
    'pause',
    'Pause a schedule. Runs that are due while it is paused are not made up for.',
    () => 'is paused',
  ),
  pauseCommand(
    'resume',
    'Resume a paused schedule, from now on.',
    ({ next_run_at }) => `runs next at ${next_run_at}`,
  ),
  remove,
]

/** Sends a control task to a scheduler and waits for its result. */
async function callScheduler<Shape extends z.ZodType>(
  client: Client,
  type: string,
  payload: object,
  shape: Shape,
): Promise<z.output<Shape>> {
  const { task_id } = await client.call('createTask', { type, payload })
  return resultOf(client, task_id, shape)
}

/** Waits for the result of a control task. */
async function resultOf<Shape extends z.ZodType>(
  client: Client,
  task_id: string,
  shape: Shape,
): Promise<z.output<Shape>> {
  const progress = new ProgressLine()
  progress.show('waiting for a scheduler')
  let task = await client.call('waitForTask', { task_id, wait_seconds: WAIT_SECONDS })
  progress.clear()
  if (!task.done) {
    const canceled = await client.call('cancelTask', { task_id, reason: 'No scheduler took it.' })
    if (canceled.ok) {
      throw new CliError(
        EXIT.failure,
        `No scheduler responded within ${WAIT_SECONDS} s. The request was canceled.`,
        'Start one with "asyncgate scheduler".',
      )
    }
    task = await client.call('waitForTask', { task_id, wait_seconds: 0 })
  }
  if (task.status !== 'succeeded') throw schedulerError(task.result?.error)
  return shape.parse(task.result?.result)
}

function schedulerError(error: unknown): CliError {
  const code = textField(error, 'code')
  const message = textField(error, 'message') ?? 'The scheduler reported an error.'
  return new CliError(
    exitCodeOf(code),
    code === undefined ? message : `${message} (${code})`,
    undefined,
    isObject(error) ? error : undefined,
  )
}

function exitCodeOf(code: string | undefined): ExitCode {
  if (code === 'SCHEDULE_NOT_FOUND') return EXIT.notFound
  return code === 'INVALID_INPUT' ? EXIT.usage : EXIT.failure
}

function ownerOf({ created_by: { kind, id } }: Pick<Schedule, 'created_by'>): string {
  return `${kind}:${id}`
}

function printSchedule(output: Output, schedule: Schedule): void {
  output.details([
    ['schedule', schedule.schedule_id],
    ['name', schedule.name],
    ['owner', ownerOf(schedule)],
    ['status', schedule.status],
    ['runs', schedule.when],
    ['expression', schedule.cron_expr && `${schedule.cron_expr} ${schedule.timezone}`],
    ['jitter', schedule.jitter_seconds === 0 ? '' : `up to ${schedule.jitter_seconds} s`],
    ['missed', schedule.misfire_policy],
    ['task', schedule.task_type],
    ['created', schedule.created_at],
    ['next runs', schedule.next_runs.join(', ') || 'none'],
    ['last run', schedule.last_run_at],
    ['last error', schedule.last_error],
    ['template', JSON.stringify(schedule.task_template)],
  ])
}
