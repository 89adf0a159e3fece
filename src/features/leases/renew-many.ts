import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse } from '../input.ts'
import { type ItemOutcome, MAX_ITEMS, outcomesOf } from '../many.ts'
import type { Services } from '../services.ts'
import { type RenewAnswer, renew } from './renew.ts'

export const renewManyInput = z.strictObject({
  items: z
    .array(z.unknown().meta({ type: 'object', description: 'The input of renew_lease' }))
    .min(1)
    .max(MAX_ITEMS),
})

export async function renewMany(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ results: ItemOutcome<RenewAnswer>[] }> {
  checkRole(caller, 'lease')
  const { items } = parse(renewManyInput, input)
  return { results: await outcomesOf(items, (item) => renew(engine, caller, item), engine) }
}
