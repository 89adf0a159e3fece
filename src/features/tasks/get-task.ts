import { principalKey } from '../../core/principal.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { readableTask, taskIdInput } from './read-task.ts'
import { taskShape } from './shape.ts'
import { viewOf } from './view.ts'

export const getTask = defineOperation({
  name: 'get_task',
  title: 'Get a task',
  description:
    'Returns the current state of a task: status, progress and, once it has ended (succeeded, failed or canceled), its result. ' +
    'To wait for the end use wait_for_task instead of polling.',
  input: taskIdInput,
  output: taskShape,
  actor: 'anyone',
  access: 'read',
  rest: { method: 'GET', path: '/v1/tasks/{task_id}' },
  effect: READS,
  async run({ engine, cancellations, links, fetches }, caller, { task_id }) {
    const record = await readableTask(engine, caller, task_id)
    fetches.note(record.task, principalKey(caller.principal))
    return viewOf({ cancellations, links }, record)
  },
})
