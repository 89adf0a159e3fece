import { z } from 'zod'
import { checkOwner, checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import { parse, taskId, text } from '../input.ts'
import type { Services } from '../services.ts'
import { inputOf } from '../view.ts'
import { type CreateAnswer, createTask } from './create.ts'
import { readTask } from './get-task.ts'

export const retryInput = z.strictObject({
  task_id: taskId,
  idempotency_key: text(255).optional(),
  deadline_at: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'The deadline of the new task. That of the old one does not hold for it' }),
})

/** A terminal task stays terminal: its work is asked for again as a new task, caused by the old one's end. */
export async function retry(engine: Services, caller: Caller, input: unknown): Promise<CreateAnswer> {
  checkRole(caller, 'retry')
  const { task_id, idempotency_key, deadline_at } = parse(retryInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const { task, spec } = await readTask(engine, tenant, task_id)
  checkOwner(task, principalKey(caller.principal), caller.role)
  if (isOpen(task) || task.status === 'succeeded') {
    throw new Fault(
      'INVALID_STATE_TRANSITION',
      { task_status: task.status },
      `A ${task.status} task is not retried.`,
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
  return createTask(engine, tenant, owner, again)
}
