import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { taskShape, tellTask } from './tasks.ts'

export const tasksShow = command({
  name: 'tasks show',
  summary: 'Show a task, its progress, and its result once it has ended.',
  takes: ['TASK_ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const task = await clientOf(input).get(`/v1/tasks/${encodeURIComponent(input.word(0))}`, {}, taskShape)
    output.answer(task, () => tellTask(output, task))
    return undefined
  },
})
