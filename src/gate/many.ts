import { Fault } from '../core/errors.ts'

export const MAX_ITEMS = 1000

/** The answer for an item, or the body of its error. */
export type ItemOutcome<Answer> = Answer | ReturnType<Fault['toJSON']>

/** Runs a verb for each item; outcomes are in the order of the items. */
export async function outcomesOf<Item, Answer>(
  items: readonly Item[],
  run: (item: Item) => Promise<Answer>,
): Promise<ItemOutcome<Answer>[]> {
  return Promise.all(
    items.map((item) =>
      run(item).catch((error: unknown) => {
        if (error instanceof Fault) return error.toJSON()
        throw error
      }),
    ),
  )
}
