import type { Fields } from '../../auth/caller.ts'
import { invalid } from '../../core/errors.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'

/** The question of a task that needs input. */
export interface InputQuestion {
  readonly message: string
  readonly form: Form
  /** Whether an upstream asked, which can continue without an answer. */
  readonly isUpstream: boolean
  /** The page that the upstream asks to open. */
  readonly url: string | undefined
}

interface Form {
  /** A form of MCP: an object with fields of simple types. */
  readonly schema: Fields
  /** Converts the fields of the form to the content of the answer. */
  read(content: Fields): unknown
}

/** The open question of a task that needs input; undefined for other tasks. */
export function questionOf({ question }: Partial<Pick<TaskView, 'question'>>): InputQuestion | undefined {
  if (question?.kind !== 'input' || !isObject(question.request)) return undefined
  const { message, schema, url } = question.request
  const said = typeof message === 'string' ? message : 'The task needs input.'
  const isUpstream = question.origin === 'upstream'
  return {
    message: isUpstream ? upstreamMessage(said, question.request) : said,
    form:
      isUpstream && isObject(schema) ? upstreamForm(schema) : formOf(isObject(schema) ? schema : undefined),
    isUpstream,
    url: isUpstream && typeof url === 'string' ? url : undefined,
  }
}

/** Says that the text is not that of the gate or of the agent, and which page to open. */
function upstreamMessage(message: string, { upstream, url }: Fields): string {
  const asks = `The upstream ${String(upstream)} asks: ${message}`
  if (typeof url !== 'string') return asks
  return `${asks}\nPage to open, on ${new URL(url).host}: ${url}`
}

/** The schema of an upstream's question is a form already. */
function upstreamForm({ type, properties, required }: Fields): Form {
  return { schema: { type, properties, required }, read: (content) => content }
}

function formOf(schema: Fields | undefined): Form {
  if (schema === undefined) return FREE
  const form = simpleForm(schema)
  return form === undefined ? jsonForm(schema) : { schema: form, read: (content) => content }
}

/** Without a schema, any text is an answer. */
const FREE: Form = {
  schema: {
    type: 'object',
    properties: { answer: { type: 'string', title: 'Answer' } },
    required: ['answer'],
  },
  read: (content) => (typeof content.answer === 'string' ? content.answer : content),
}

/** Forms of MCP have no nested fields, so a nested answer is entered as JSON. */
function jsonForm(schema: Fields): Form {
  return {
    schema: {
      type: 'object',
      properties: {
        json: { type: 'string', title: 'Answer as JSON', description: `Fits ${JSON.stringify(schema)}` },
      },
      required: ['json'],
    },
    read({ json }) {
      if (typeof json !== 'string') throw invalid('content.json', 'is not a text')
      try {
        return JSON.parse(json)
      } catch {
        throw invalid('content.json', 'is not JSON')
      }
    },
  }
}

export type Response =
  | { readonly action: 'accept'; readonly content: Fields }
  | { readonly action: 'decline' | 'cancel' }

/** Undefined if the value is invalid. */
export function responseOf(value: unknown): Response | undefined {
  if (!isObject(value)) return undefined
  const { action, content = {} } = value
  if (action === 'decline' || action === 'cancel') return { action }
  return action === 'accept' && isObject(content) ? { action, content } : undefined
}

/** The keywords that forms of MCP support, by type. The others are checked against the answer. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['title', 'description', 'minLength', 'maxLength', 'format', 'enum', 'default'],
  number: ['title', 'description', 'minimum', 'maximum', 'default'],
  integer: ['title', 'description', 'minimum', 'maximum', 'default'],
  boolean: ['title', 'description', 'default'],
  array: ['title', 'description', 'minItems', 'maxItems', 'items', 'default'],
}

const FORMATS: readonly unknown[] = ['email', 'uri', 'date', 'date-time']

/** Converts a JSON Schema to a form of MCP. Undefined if the schema is not an object with fields of simple types. */
export function simpleForm({ type, properties, required }: Fields): Fields | undefined {
  if (type !== 'object' || !isObject(properties)) return undefined
  const fields: [string, Fields][] = []
  for (const [name, schema] of Object.entries(properties)) {
    const field = isObject(schema) ? fieldOf(schema) : undefined
    if (field === undefined) return undefined
    fields.push([name, field])
  }
  return { type, properties: Object.fromEntries(fields), ...(Array.isArray(required) && { required }) }
}

function fieldOf(schema: Fields): Fields | undefined {
  const { type, format } = schema
  const known = typeof type === 'string' ? KEYWORDS[type] : undefined
  if (known === undefined || (type === 'array' && !isChoice(schema.items))) return undefined
  const keywords =
    format === undefined || FORMATS.includes(format) ? known : known.filter((word) => word !== 'format')
  return {
    type,
    ...Object.fromEntries(keywords.filter((word) => word in schema).map((word) => [word, schema[word]])),
  }
}

function isChoice(items: unknown): boolean {
  return isObject(items) && items.type === 'string' && Array.isArray(items.enum)
}
