import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse, text } from '../input.ts'
import type { Services } from '../services.ts'

export const removeTaskTypeInput = z.strictObject({ type: text(255) })

/** Tasks of the type stay as they are. */
export async function removeTaskType(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { type } = parse(removeTaskTypeInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return { type, removed: await engine.taskTypes.remove(tenant, type) }
}
