import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { createdShape } from './tasks.ts'

export const tasksRetry = command({
  name: 'tasks retry',
  summary: 'Ask for the work of a failed or canceled task again, as a new task.',
  takes: ['TASK_ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const path = `/v1/tasks/${encodeURIComponent(input.word(0))}/retry`
    const created = await clientOf(input).post(path, {}, createdShape)
    output.answer(created, () => output.say(`${created.task_id} is ${created.status}, with the same input`))
    return undefined
  },
})
