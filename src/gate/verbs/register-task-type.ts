import { checkRole } from '../../core/policy.ts'
import type { Caller } from '../../core/principal.ts'
import type { Engine } from '../engine.ts'
import { readTaskType, type TaskTypeView } from '../task-types-shape.ts'

export async function registerTaskType(
  engine: Engine,
  caller: Caller,
  input: unknown,
): Promise<TaskTypeView> {
  checkRole(caller, 'manage')
  const draft = await readTaskType(engine.schemas, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.taskTypes.register(tenant, draft)
}
