import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { warn } from '../../output.ts'
import { ask, scheduleShape, tellTiming } from './schedules.ts'

const pageShape = z.looseObject({ schedules: z.array(scheduleShape), next_cursor: z.string().nullable() })

export const schedulesList = command({
  name: 'schedules list',
  summary: 'List your schedules.',
  options: {
    limit: { type: 'string', value: 'N', doc: 'at most so many, up to 1000; default 200' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'where an earlier list ended' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const asked = { limit: input.whole('limit'), cursor: input.text('cursor') }
    const page = await ask(clientOf(input), 'schedule.list', asked, pageShape)
    output.answer(page, () => {
      if (page.schedules.length === 0) return output.say('There are no schedules.')
      output.table(
        ['SCHEDULE', 'STATUS', 'NAME', 'RUNS', 'TASK', 'NEXT', 'LAST'],
        page.schedules.map((schedule) => [
          schedule.schedule_id,
          schedule.status,
          schedule.name.slice(0, 40),
          tellTiming(schedule),
          schedule.task_type,
          schedule.next_run_at ?? '',
          schedule.last_status ?? '',
        ]),
      )
      if (page.next_cursor !== null) warn(`There are more: --cursor ${page.next_cursor}`)
    })
    return undefined
  },
})
