import { z } from 'zod'
import { checkOwner } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { taskId } from '../input.ts'
import { createdShape, createTask } from './create.ts'
import { readTask } from './read-task.ts'
import { createdSummary } from './summary.ts'
import { inputOf, retryFields } from './task-input.ts'

/** A terminal task stays terminal: the retry is a new task, caused by the receipt that ended the original. */
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
  async run(services, caller, { task_id, idempotency_key, deadline_at }) {
    const { engine } = services
    const tenant = await engine.tenant(caller.tenant)
    const { task, spec } = await readTask(engine, tenant, task_id)
    checkOwner(task, principalKey(caller.principal), caller.role)
    if (isOpen(task) || task.status === 'succeeded') {
      throw new Fault(
        'INVALID_STATE_TRANSITION',
        { task_status: task.status },
        `A ${task.status} task cannot be retried.`,
      )
    }
    const again = {
      ...inputOf(spec.input),
      principal_ai: task.principal_ai,
      caused_by_receipt_id: engine.receiptId(tenant, task.outcome.receipt_seq),
      idempotency_key,
      deadline_at,
    }
    const owner: Caller = { ...caller, principal: parsePrincipalKey(task.owner) }
    return createTask(services, tenant, owner, again)
  },
})
