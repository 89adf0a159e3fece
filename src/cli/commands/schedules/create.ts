import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { readPayload } from '../tasks/create.ts'
import { ask } from './schedules.ts'

const createdShape = z.looseObject({ schedule_id: z.string(), next_run_at: z.string().nullable() })

export const schedulesCreate = command({
  name: 'schedules create',
  summary: 'Ask for a task at every interval, or by a cron expression.',
  takes: ['NAME'],
  options: {
    every: { type: 'string', value: 'SECONDS', doc: 'run at this interval' },
    cron: { type: 'string', value: 'EXPRESSION', doc: `run by these fields, as in '30 2 * * *'` },
    timezone: {
      type: 'string',
      value: 'ZONE',
      doc: 'of the cron expression, as in Europe/Berlin; default UTC',
    },
    type: { type: 'string', value: 'TYPE', doc: 'the type of the tasks that the runs create' },
    payload: {
      type: 'string',
      value: 'JSON',
      doc: 'their payload, with {{run_at}}, {{now}} and {{schedule_id}}; @FILE reads a file, - standard input',
    },
    priority: { type: 'string', value: 'N', doc: 'their priority, from -1000 to 1000, higher first' },
    capability: { type: 'string', value: 'NAME', multiple: true, doc: 'what a worker must be able to do' },
    label: { type: 'string', value: 'KEY=VALUE', multiple: true, doc: 'to find the tasks by' },
    misfire: {
      type: 'string',
      value: 'POLICY',
      doc: 'skip, catch_up_one or catch_up_all; default catch_up_one',
    },
    jitter: { type: 'string', value: 'SECONDS', doc: 'delay each run by up to so long' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const every = input.whole('every')
    const cron = input.text('cron')
    const type = input.text('type')
    const payload = input.text('payload')
    const capabilities = input.texts('capability')
    const labels = input.pairs('label')
    if ((every === undefined) === (cron === undefined)) throw input.wrong('Give either --every or --cron.')
    if (type === undefined) throw input.wrong('--type is missing.')
    const created = await ask(
      clientOf(input),
      'schedule.create',
      {
        name: input.word(0),
        ...(cron === undefined
          ? { mode: 'interval', interval_seconds: every }
          : { mode: 'cron', cron_expr: cron }),
        timezone: input.text('timezone'),
        task_template: {
          type,
          payload_template: payload === undefined ? undefined : readPayload(payload),
          priority: input.whole('priority'),
          requirements: capabilities.length > 0 ? { capabilities } : undefined,
          labels: Object.keys(labels).length > 0 ? labels : undefined,
        },
        misfire_policy: input.text('misfire'),
        jitter_seconds: input.whole('jitter'),
      },
      createdShape,
    )
    output.answer(created, () => output.say(`${created.schedule_id} runs first at ${created.next_run_at}`))
    return undefined
  },
})
