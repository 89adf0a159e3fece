import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse } from '../input.ts'
import { type ItemOutcome, MAX_ITEMS, outcomesOf } from '../many.ts'
import type { Services } from '../services.ts'
import { type CreateAnswer, createWithin } from './create.ts'

export const createManyInput = z.strictObject({
  tasks: z
    .array(z.unknown().meta({ type: 'object', description: 'The input of create_task' }))
    .min(1)
    .max(MAX_ITEMS),
})

/** Each task has its own outcome; one that is refused does not stop the others. */
export async function createMany(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ results: ItemOutcome<CreateAnswer>[] }> {
  checkRole(caller, 'create')
  const { tasks } = parse(createManyInput, input)
  const circumstances = { request: tasks }
  const run = (task: unknown) => createWithin(engine, caller, task, circumstances)
  return { results: await outcomesOf(tasks, run, engine) }
}
