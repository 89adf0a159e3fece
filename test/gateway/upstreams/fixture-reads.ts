import {
  type GetPromptResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type Server,
} from '@modelcontextprotocol/server'

export interface FixtureReadsOptions {
  readonly prompts?: readonly Prompt[]
  readonly resources?: readonly Resource[]
  /** Items per page of a list. */
  readonly pageSize?: number
  readonly read?: (uri: string, signal: AbortSignal) => Promise<ReadResourceResult>
  readonly get?: (name: string, args: Readonly<Record<string, string>>) => GetPromptResult
}

/** The prompts and resources of a fixture, shared by its servers. */
export class FixtureReads {
  readonly capabilities = {
    prompts: { listChanged: true },
    resources: { listChanged: true },
    completions: {},
  }
  readonly onChange = new Set<(kind: 'prompts' | 'resources') => void>()
  readonly #options: FixtureReadsOptions
  readonly #servers = new Set<Server>()
  #prompts: readonly Prompt[]
  #resources: readonly Resource[]
  /** The arguments for which completions were requested. */
  readonly completed: string[] = []

  constructor(options: FixtureReadsOptions) {
    this.#options = options
    this.#prompts = options.prompts ?? []
    this.#resources = options.resources ?? []
  }

  serve(server: Server): void {
    this.#servers.add(server)
    server.setRequestHandler('prompts/list', ({ params }) => {
      const { items, ...rest } = this.#page(this.#prompts, params?.cursor)
      return { prompts: items, ...rest }
    })
    server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }) =>
      this.#options.get ? this.#options.get(name, args) : said(`${name} ${JSON.stringify(args)}`),
    )
    server.setRequestHandler('resources/list', ({ params }) => {
      const { items, ...rest } = this.#page(this.#resources, params?.cursor)
      return { resources: items, ...rest }
    })
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
    server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq }) => {
      if (this.#options.read) return this.#options.read(uri, mcpReq.signal)
      if (!this.#resources.some((resource) => resource.uri === uri)) throw new ResourceNotFoundError(uri)
      return { contents: [{ uri, text: `The text of ${uri}.` }] }
    })
    server.setRequestHandler('completion/complete', ({ params: { argument } }) => {
      this.completed.push(argument.value)
      return { completion: { values: [`${argument.value}\u200bone`, 'card 4111111111111111'] } }
    })
  }

  addPrompt(prompt: Prompt): void {
    this.#prompts = [...this.#prompts, prompt]
    for (const server of this.#servers) void server.sendPromptListChanged().catch(() => {})
    for (const listener of this.onChange) listener('prompts')
  }

  addResource(resource: Resource): void {
    this.#resources = [...this.#resources, resource]
    for (const server of this.#servers) void server.sendResourceListChanged().catch(() => {})
    for (const listener of this.onChange) listener('resources')
  }

  #page<Item>(all: readonly Item[], cursor: string | undefined) {
    const { pageSize = 1000 } = this.#options
    const from = Number(cursor ?? 0)
    const next = from + pageSize
    return { items: all.slice(from, next), ...(next < all.length && { nextCursor: String(next) }) }
  }
}

export function said(text: string): GetPromptResult {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] }
}
