import type { Fields } from '../../auth/caller.ts'
import { invalid } from '../../core/errors.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'
import { simpleForm } from './form.ts'

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
