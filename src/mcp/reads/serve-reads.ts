import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
} from '@modelcontextprotocol/server'
import { asFault, asProtocolError, type Call, type CallOf, type ReadSource } from '../tools/tool.ts'

/**
 * Serves the prompts and resources of all sources as one list. The first source that has a prompt or resource serves it.
 */
export function serveReads(
  sources: readonly ReadSource[],
  server: Server,
  callOf: CallOf,
  onError: (error: unknown) => void,
): void {
  const { prompts, resources, completions } = server.getCapabilities()
  /** Rejects with JSON-RPC errors only. */
  const answering = async <Answer>(call: Call, answer: () => Promise<Answer>): Promise<Answer> => {
    try {
      if (call.flaw) throw call.flaw
      return await answer()
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      throw asProtocolError(asFault(error, onError), call)
    }
  }
  const listed = async <Item>(
    call: Call,
    list: (source: ReadSource) => Promise<readonly Item[]>,
    keyOf: (item: Item) => string,
    cursor: string | undefined,
  ) => {
    const all = await answering(call, async () => (await Promise.all(sources.map(list))).flat())
    return pageOf(
      all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
      keyOf,
      cursor,
    )
  }
  const first = async <Answer>(ask: (source: ReadSource) => Promise<Answer | undefined>) => {
    for (const source of sources) {
      const answer = await ask(source)
      if (answer !== undefined) return answer
    }
    return undefined
  }

  if (prompts !== undefined) {
    server.setRequestHandler('prompts/list', async ({ params }, context) => {
      const call = callOf(context)
      const { page, ...rest } = await listed(
        call,
        (source) => source.prompts(call),
        ({ name }) => name,
        params?.cursor,
      )
      return { prompts: page, ...rest }
    })
    server.setRequestHandler('prompts/get', async ({ params: { name, arguments: args = {} } }, context) => {
      const call = callOf(context)
      return answering(call, async () => {
        const found = await first((source) => source.getPrompt(name, args, call))
        if (found !== undefined) return found
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 128)}`)
      })
    })
  }
  if (resources !== undefined) {
    server.setRequestHandler('resources/list', async ({ params }, context) => {
      const call = callOf(context)
      const { page, ...rest } = await listed(
        call,
        (source) => source.resources(call),
        ({ uri }) => uri,
        params?.cursor,
      )
      return { resources: page, ...rest }
    })
    server.setRequestHandler('resources/templates/list', async ({ params }, context) => {
      const call = callOf(context)
      const { page, ...rest } = await listed(
        call,
        (source) => source.templates(call),
        ({ uriTemplate }) => uriTemplate,
        params?.cursor,
      )
      return { resourceTemplates: page, ...rest }
    })
    server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
      const call = callOf(context)
      return answering(call, async () => {
        const found = await first((source) => source.readResource(uri, call))
        if (found !== undefined) return found
        throw new ResourceNotFoundError(uri, `Resource not found: ${uri.slice(0, 256)}.`)
      })
    })
  }
  if (completions !== undefined) {
    server.setRequestHandler('completion/complete', async ({ params }, context) => {
      const call = callOf(context)
      const { ref, argument, context: known } = params
      const asked = { ref, argument, others: known?.arguments }
      return answering(call, async () => {
        const found = await first((source) => source.complete(asked, call))
        return found ?? { completion: { values: [] } }
      })
    })
  }
}

const PAGE_SIZE = 500

/** One page of a sorted list. The cursor is the last key, so the list may change between pages. */
export function pageOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: string | undefined,
): { readonly page: Item[]; readonly nextCursor?: string } {
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
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is invalid.')
}
