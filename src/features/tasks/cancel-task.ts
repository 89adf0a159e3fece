import { z } from 'zod'
import { principalKey } from '../../core/principal.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { taskId, text } from '../input.ts'
import { statusShape } from './shape.ts'

export const reason = text(1000).optional().describe('Why the task is canceled; recorded in the receipt')

export const cancelTask = defineOperation({
  name: 'cancel_task',
  title: 'Cancel a task',
  description:
    'Cancels one of your tasks. The worker that holds it is told to stop. ok is false if the task had already ended; status says how.',
  input: z.strictObject({ task_id: taskId, reason }),
  output: z.object({
    ok: z.boolean().describe('Whether this call ended the task'),
    status: statusShape,
  }),
  actor: 'agent',
  access: 'cancel',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/cancel' },
  effect: ENDS,
  async run({ engine }, caller, { task_id, reason = null }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const by = principalKey(caller.principal)
    return engine.submit({ verb: 'cancel', tenant, task_id, by, role: caller.role, reason })
  },
})
