import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import type { Services } from '../services.ts'
import { readTaskType, type TaskTypeView } from './shape.ts'

export async function registerTaskType(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<TaskTypeView> {
  checkRole(caller, 'manage')
  const draft = await readTaskType(engine.schemas, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.taskTypes.register(tenant, draft)
}
