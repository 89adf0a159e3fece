import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { pageLimit, text } from './input.ts'

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

/** The paging fields of a list that is sorted by id. */
export const idPage = {
  limit: pageLimit,
  cursor: text(64).optional().describe('next_cursor of the previous page'),
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

/**
 * One page of a list that is sorted by id. The cursor is the id of the last item before it. `read` returns the items with
 * an id above `after`, at most `limit`.
 */
export async function pageById<Item>(
  read: (after: string, limit: number) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
  { limit, cursor = '' }: { limit: number; cursor?: string | undefined },
): Promise<Page<Item>> {
  const found = await read(cursor, limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: found.length > limit && last !== undefined ? idOf(last) : null }
}
