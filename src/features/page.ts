import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { text } from './input.ts'

/** The paging fields of a list that is small enough for one response. */
export const optionalPage = {
  limit: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('Maximum number of items per page; all items if absent'),
  cursor: text(255).optional().describe('next_cursor of the previous page'),
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

/** One page of a list whose order does not depend on the server. The cursor is the name of the last item before it. */
export function pageOf<Item>(
  all: readonly Item[],
  nameOf: (item: Item) => string,
  { limit = all.length, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): Page<Item> {
  const before = cursor === undefined ? -1 : all.findIndex((item) => nameOf(item) === cursor)
  if (cursor !== undefined && before === -1) {
    throw invalid('cursor', 'names an item that no longer exists: list again from the start')
  }
  const end = before + 1 + limit
  const items = all.slice(before + 1, end)
  const last = items.at(-1)
  return { items, next_cursor: end < all.length && last !== undefined ? nameOf(last) : null }
}
