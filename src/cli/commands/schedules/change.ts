import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { ask } from './schedules.ts'

const doneShape = z.looseObject({ ok: z.boolean(), next_run_at: z.string().nullable().optional() })

type Done = z.output<typeof doneShape>

export const schedulesPause = change(
  'pause',
  'Let a schedule rest. What it does not run meanwhile is not missed.',
  () => 'is paused',
)

export const schedulesResume = change(
  'resume',
  'Let a schedule that was paused go on, from now.',
  ({ next_run_at }) => `runs next at ${next_run_at}`,
)

export const schedulesDelete = change('delete', 'End a schedule for good.', () => 'is deleted')

function change(verb: 'pause' | 'resume' | 'delete', summary: string, tell: (done: Done) => string) {
  return command({
    name: `schedules ${verb}`,
    summary,
    takes: ['SCHEDULE_ID'],
    options: CLIENT_OPTIONS,
    async run(input, output) {
      const schedule_id = input.word(0)
      const done = await ask(clientOf(input), `schedule.${verb}`, { schedule_id }, doneShape)
      output.answer(done, () => output.say(`${schedule_id} ${tell(done)}`))
      return undefined
    },
  })
}
