import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Status } from '../../core/transitions.ts'
import { parse, taskId, text } from '../input.ts'
import type { Services } from '../services.ts'

export const reason = text(1000).optional()

export const cancelInput = z.strictObject({ task_id: taskId, reason })

export interface CancelAnswer {
  /** False if the task had ended already; `status` says how. */
  readonly ok: boolean
  readonly status: Status
}

export async function cancel(engine: Services, caller: Caller, input: unknown): Promise<CancelAnswer> {
  checkRole(caller, 'cancel')
  const asked = parse(cancelInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.submit({
    verb: 'cancel',
    tenant,
    task_id: asked.task_id,
    by: principalKey(caller.principal),
    role: caller.role,
    reason: asked.reason ?? null,
  })
}
