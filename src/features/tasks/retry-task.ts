import { z } from 'zod'
import { defineOperation, WRITES } from '../define-operation.ts'
import { taskId } from '../input.ts'
import { createdShape } from './create.ts'
import { retry } from './retry.ts'
import { createdSummary } from './summary.ts'
import { retryFields } from './task-input.ts'

export const retryTask = defineOperation({
  name: 'retry_task',
  title: 'Retry a task',
  description:
    'Creates a new task with the same input as a failed or canceled one. The original task does not change. ' +
    'Send an idempotency_key so that repeating the request does not create another task.',
  input: z.strictObject({ task_id: taskId, ...retryFields }),
  output: createdShape,
  actor: 'agent',
  access: 'retry',
  toolsets: ['agent'],
  modelFields: ['task_id', 'idempotency_key'],
  summary: createdSummary,
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/retry' },
  effect: WRITES,
  repeat: 'idempotent with an `idempotency_key`',
  run: (services, caller, input) => retry(services, caller, input),
})
