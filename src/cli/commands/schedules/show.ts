import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { taskShape } from '../tasks/tasks.ts'
import { ask, scheduleShape, tellSchedule } from './schedules.ts'

const statusShape = scheduleShape.extend({ task_template: z.unknown() })
const pageShape = z.looseObject({ tasks: z.array(taskShape) })

export const schedulesShow = command({
  name: 'schedules show',
  summary: 'Show a schedule and its last runs.',
  takes: ['SCHEDULE_ID'],
  options: {
    runs: { type: 'string', value: 'N', doc: 'how many runs to show, up to 200; default 10' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const client = clientOf(input)
    const schedule_id = input.word(0)
    const schedule = await ask(client, 'schedule.status', { schedule_id }, statusShape)
    const { tasks } = await client.get(
      '/v1/tasks',
      { 'label.schedule_id': schedule_id, limit: input.whole('runs') ?? 10 },
      pageShape,
    )
    output.answer({ ...schedule, runs: tasks }, () => {
      tellSchedule(output, schedule)
      output.say(`${'template'.padEnd(10)} ${JSON.stringify(schedule.task_template)}`)
      if (tasks.length === 0) return
      output.say()
      output.table(
        ['TASK', 'STATUS', 'CREATED'],
        tasks.map((task) => [task.task_id, task.status, task.created_at]),
      )
    })
    return undefined
  },
})
