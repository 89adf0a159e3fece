import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

const PAGE_SIZE = 500

/** One page of a list that is in the order of its keys. The cursor is the last key, so a list may change in between. */
export function pageOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: string | undefined,
): { readonly page: readonly Item[]; readonly nextCursor?: string } {
  const after = cursor === undefined ? undefined : keyIn(cursor)
  const from = after === undefined ? 0 : items.findIndex((item) => keyOf(item) > after)
  if (from < 0) return { page: [] }
  const page = items.slice(from, from + PAGE_SIZE)
  const last = page.at(-1)
  if (last === undefined || from + page.length >= items.length) return { page }
  return { page, nextCursor: Buffer.from(keyOf(last)).toString('base64url') }
}

function keyIn(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url')
  if (key.length > 0 && key.toString('base64url') === cursor) return key.toString('utf8')
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not one of this list.')
}
