import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse } from '../input.ts'
import { type ItemOutcome, MAX_ITEMS, outcomesOf } from '../many.ts'
import type { Services } from '../services.ts'
import { type CompleteAnswer, complete } from './complete.ts'

export const completeManyInput = z.strictObject({
  items: z
    .array(z.unknown().meta({ type: 'object', description: 'The input of complete' }))
    .min(1)
    .max(MAX_ITEMS),
})

export async function completeMany(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ results: ItemOutcome<CompleteAnswer>[] }> {
  checkRole(caller, 'lease')
  const { items } = parse(completeManyInput, input)
  return { results: await outcomesOf(items, (item) => complete(engine, caller, item), engine) }
}
