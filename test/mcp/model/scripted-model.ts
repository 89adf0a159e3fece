import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'

const Schema = z.looseObject({
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })).default({}),
  required: z.array(z.string()).default([]),
})

interface KnownTool {
  readonly name: string
  readonly text: string
  readonly schema: z.output<typeof Schema>
}

const Content = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))

type Facts = Readonly<Record<string, unknown>>

export interface Reply {
  readonly text: string
  readonly isError: boolean
  /** The members of the reply, if it is a JSON object. */
  readonly data: Facts
}

/**
 * A deterministic stand-in for a model. It knows what the user wants, in words and with facts, and otherwise only what
 * the server says: names, descriptions and schemas of tools, and replies. It chooses a tool by its words, and fills the
 * arguments of its schema with facts of the same name.
 */
export class ScriptedModel {
  readonly #client: Client
  /** Everything that replies have said, by name; later replies count more. */
  #learned: Facts = {}
  /** The tools that were called, in order. */
  readonly called: string[] = []
  #tools: readonly KnownTool[] = []

  constructor(client: Client) {
    this.#client = client
  }

  /** Reads the tools that the server lists. */
  async connect(): Promise<readonly string[]> {
    const { tools } = await this.#client.listTools()
    this.#tools = tools.map(knownTool)
    return this.#tools.map(({ name }) => name)
  }

  /** Does what the user asks for with the tool that fits best, and learns from the reply. */
  async act(wish: string, facts: Facts = {}): Promise<Reply> {
    const tool = best(this.#tools, wish)
    return this.call(tool.name, this.#argumentsOf(tool, facts))
  }

  /** Does what the last reply suggests: calls the tool that its hint names. */
  async follow({ text }: Reply, facts: Facts = {}): Promise<Reply> {
    const tool = this.#tools.find(
      ({ name }) => text.includes(name) || text.includes(name.replace('asyncgate_', '')),
    )
    if (tool === undefined) throw new Error(`The reply names no tool that is listed: ${text}`)
    return this.call(tool.name, this.#argumentsOf(tool, facts))
  }

  async call(name: string, args: Facts): Promise<Reply> {
    this.called.push(name)
    const result = await this.#client.callTool({ name, arguments: args })
    const [first] = Content.parse(result.content)
    const text = first?.text ?? ''
    const data = factsIn(text)
    this.#learned = { ...this.#learned, ...data }
    return { text, isError: result.isError === true, data }
  }

  #argumentsOf({ name, schema }: KnownTool, facts: Facts): Facts {
    const known: Facts = { ...this.#learned, ...facts }
    const wanted = Object.keys(schema.properties).filter(
      (field) => schema.required.includes(field) || field in facts,
    )
    const missing = wanted.filter((field) => known[field] === undefined)
    if (missing.length > 0) throw new Error(`The model does not know ${missing.join(', ')} for ${name}`)
    return Object.fromEntries(wanted.map((field) => [field, known[field]]))
  }
}

function knownTool(tool: {
  name: string
  description?: string | undefined
  inputSchema: unknown
}): KnownTool {
  const text = `${tool.name.replaceAll('_', ' ')} ${tool.description ?? ''}`.toLowerCase()
  return { name: tool.name, text, schema: Schema.parse(tool.inputSchema) }
}

/** The tool that shares most words with the wish; words of the name count three times. */
function best(tools: readonly KnownTool[], wish: string): KnownTool {
  const wanted = new Set(wordsOf(wish))
  const scored = tools.map((tool) => {
    const inName = wordsOf(tool.name.replaceAll('_', ' ')).filter((word) => wanted.has(word)).length
    const inText = new Set(wordsOf(tool.text).filter((word) => wanted.has(word))).size
    return { tool, score: 3 * inName + inText }
  })
  const [first, second] = scored.toSorted((a, b) => b.score - a.score)
  if (first === undefined || first.score === 0) throw new Error(`No tool fits "${wish}"`)
  if (first.score === second?.score)
    throw new Error(`"${wish}" fits ${first.tool.name} and ${second.tool.name} equally well`)
  return first.tool
}

const COMMON = new Set([
  'a',
  'an',
  'the',
  'of',
  'to',
  'and',
  'or',
  'it',
  'is',
  'my',
  'me',
  'in',
  'for',
  'that',
  'with',
])

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z]+/g) ?? []).filter((word) => !COMMON.has(word))
}

/** The members of a JSON object. A list with rows also teaches the members of its first row. */
function factsIn(text: string): Facts {
  try {
    const value: unknown = JSON.parse(text)
    const data = z.record(z.string(), z.unknown()).parse(value)
    const rows = Object.values(data).find((member) => Array.isArray(member))
    const row = z.array(z.record(z.string(), z.unknown())).safeParse(rows).data?.[0]
    return { ...row, ...data }
  } catch {
    return {}
  }
}
