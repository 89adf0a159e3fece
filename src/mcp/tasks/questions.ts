import type { Fields } from '../../auth/caller.ts'
import { invalid } from '../../core/errors.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'

/** What a task wants to know from the agent's side. */
export interface InputQuestion {
  readonly n: number
  /** Never used again in the life of the task. */
  readonly key: string
  readonly message: string
  readonly form: Form
}

interface Form {
  /** A form of MCP: an object with fields of simple types. */
  readonly schema: Fields
  /** The content of the answer, from the fields of the form. */
  read(content: Fields): unknown
}

/** The open question of a task that needs input; undefined for all others. */
export function questionOf({ question }: Partial<Pick<TaskView, 'question'>>): InputQuestion | undefined {
  if (question?.kind !== 'input' || !isObject(question.request)) return undefined
  const { message, schema } = question.request
  return {
    n: question.n,
    key: `q${question.n}`,
    message: typeof message === 'string' ? message : 'The task needs input.',
    form: formOf(isObject(schema) ? schema : undefined),
  }
}

/** As a request of MCP. */
export function elicitation({ message, form }: InputQuestion): object {
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: form.schema },
  }
}

function formOf(schema: Fields | undefined): Form {
  if (schema === undefined) return FREE
  const form = simpleForm(schema)
  return form === undefined ? jsonForm(schema) : { schema: form, read: (content) => content }
}

/** Without a schema any words are an answer. */
const FREE: Form = {
  schema: {
    type: 'object',
    properties: { answer: { type: 'string', title: 'Answer' } },
    required: ['answer'],
  },
  read: (content) => (typeof content.answer === 'string' ? content.answer : content),
}

/** Forms of MCP have no fields within fields: an answer that needs them is written as JSON. */
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

/** The words of a client that has been asked. */
export type Response =
  | { readonly action: 'accept'; readonly content: Fields }
  | { readonly action: 'decline' | 'cancel' }

/** Undefined for what is no answer. */
export function responseOf(value: unknown): Response | undefined {
  if (!isObject(value)) return undefined
  const { action, content = {} } = value
  if (action === 'decline' || action === 'cancel') return { action }
  return action === 'accept' && isObject(content) ? { action, content } : undefined
}

/** The keywords that forms of MCP know, by the type of a field. Others are checked when the answer has come. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['title', 'description', 'minLength', 'maxLength', 'format', 'enum', 'default'],
  number: ['title', 'description', 'minimum', 'maximum', 'default'],
  integer: ['title', 'description', 'minimum', 'maximum', 'default'],
  boolean: ['title', 'description', 'default'],
  array: ['title', 'description', 'minItems', 'maxItems', 'items', 'default'],
}

const FORMATS: readonly unknown[] = ['email', 'uri', 'date', 'date-time']

/** A JSON Schema as a form of MCP: an object with fields of simple types. Undefined if it is more than that. */
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

/** Of lists there are only those of words to choose from. */
function isChoice(items: unknown): boolean {
  return isObject(items) && items.type === 'string' && Array.isArray(items.enum)
}
