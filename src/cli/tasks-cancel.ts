import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from './client.ts'
import { command } from './command.ts'
import { EXIT } from './exit.ts'

const canceledShape = z.looseObject({ ok: z.boolean(), status: z.string() })

export const tasksCancel = command({
  name: 'tasks cancel',
  summary: 'Stop a task. Exit code 1 if it had ended in another way before.',
  takes: ['TASK_ID'],
  options: {
    reason: { type: 'string', value: 'TEXT', doc: 'why, for the receipt' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const answer = await clientOf(input).post(
      `/v1/tasks/${encodeURIComponent(input.word(0))}/cancel`,
      { reason: input.text('reason') },
      canceledShape,
    )
    output.answer(answer, () => {
      output.say(answer.ok ? 'The task is canceled.' : `The task had ended before: it is ${answer.status}.`)
    })
    return answer.status === 'canceled' ? EXIT.ok : EXIT.failure
  },
})
