import type { ElicitResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Json, JsonObject } from '../../core/json/json.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine, cleanText, hasHidden } from '../../util/untrusted-text.ts'

/** What an upstream asks: a form, or a page to open. */
export interface Elicitation {
  readonly message: string
  /** The schema of the answer. */
  readonly schema: JsonObject
  readonly url?: string | undefined
}

/** A request of an upstream that cannot be shown as a question. The message is for the upstream. */
export class UnaskableError extends Error {}

/** An upstream needs answers before it can complete a call: the call has to be repeated with them. */
export class InputRequired {
  readonly requests: readonly InputRequest[]
  /** Is sent back unchanged, and shown to no client. */
  readonly requestState: string | undefined
  /** Whether the repeated call has to contain the answers. Otherwise it is the same call again. */
  readonly takesAnswers: boolean

  constructor(requests: readonly InputRequest[], requestState: string | undefined, takesAnswers: boolean) {
    this.requests = requests
    this.requestState = requestState
    this.takesAnswers = takesAnswers
  }
}

export interface InputRequest {
  /** The name that the upstream gave the request. */
  readonly key: string
  readonly elicitation: Elicitation
}

/** The parameters that repeat a call with answers. */
export interface Repetition {
  readonly requestState?: string
  readonly inputResponses?: Readonly<Record<string, ElicitResult>>
}

const MAX_MESSAGE = 4000
const MAX_URL = 2048
const MAX_FIELDS = 50
const MAX_NAME = 100
const MAX_OPTIONS = 200
const MAX_OPTION = 200
const MAX_TEXT = 1000
const MAX_REQUESTS = 20
const MAX_STATE = 32 * 1024

const label = z
  .string()
  .transform((text) => cleanLine(text, MAX_TEXT))
  .optional()
/** An option is sent back unchanged, so it is not cleaned. */
const option = z
  .string()
  .max(MAX_OPTION)
  .refine((text) => !hasHidden(text))
const options = z.array(option).min(1).max(MAX_OPTIONS)
const titled = z
  .array(z.object({ const: option, title: label }))
  .min(1)
  .max(MAX_OPTIONS)
const none = z.undefined().optional()
const count = z.int().min(0).optional()
const shown = { title: label, description: label }

/** The fields of MCP forms. All other keywords are removed. */
const field = z.union([
  z
    .object({ type: z.literal('string'), ...shown, enum: options, enumNames: z.array(label), default: label })
    .transform(({ enum: values, enumNames, ...rest }) => ({
      ...rest,
      oneOf: values.map((value, i) => ({ const: value, title: enumNames[i] ?? value })),
    })),
  z.object({ type: z.literal('string'), ...shown, enum: options, default: label }),
  z.object({ type: z.literal('string'), ...shown, oneOf: titled, default: label }),
  z.object({
    type: z.literal('string'),
    ...shown,
    minLength: count,
    maxLength: count,
    format: z.enum(['email', 'uri', 'date', 'date-time']).optional(),
    default: label,
    enum: none,
    oneOf: none,
  }),
  z.object({
    type: z.enum(['number', 'integer']),
    ...shown,
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    default: z.number().optional(),
  }),
  z.object({ type: z.literal('boolean'), ...shown, default: z.boolean().optional() }),
  z.object({
    type: z.literal('array'),
    ...shown,
    minItems: count,
    maxItems: count,
    items: z.union([z.object({ type: z.literal('string'), enum: options }), z.object({ anyOf: titled })]),
    default: z.array(option).max(MAX_OPTIONS).optional(),
  }),
])

/** Reads the parameters of `elicitation/create`. Throws UnaskableError. `scrub` removes credentials from a text. */
export function readElicitation(params: unknown, scrub: (text: string) => string): Elicitation {
  const { mode = 'form', message, requestedSchema, url } = isObject(params) ? params : {}
  if (typeof message !== 'string') throw new UnaskableError('message is not a string')
  const said = cleanText(scrub(message.slice(0, MAX_MESSAGE * 2)), MAX_MESSAGE)
  if (mode === 'form') return { message: said, schema: formOf(requestedSchema, scrub) }
  if (mode === 'url') return { message: said, schema: NO_FIELDS, url: urlOf(url, scrub) }
  throw new UnaskableError('mode is neither form nor url')
}

const NO_FIELDS: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

function formOf(schema: unknown, scrub: (text: string) => string): JsonObject {
  const { type, properties, required = [] } = isObject(schema) ? schema : {}
  if (type !== 'object' || !isObject(properties)) {
    throw new UnaskableError('requestedSchema is not an object schema with properties')
  }
  const names = Object.keys(properties)
  if (names.length > MAX_FIELDS)
    throw new UnaskableError(`requestedSchema has more than ${MAX_FIELDS} fields`)
  const fields = names.map((name): [string, Json] => {
    if (name === '' || name.length > MAX_NAME || hasHidden(name)) {
      throw new UnaskableError('requestedSchema has a field whose name is too long or not printable')
    }
    const { success, data } = field.safeParse(properties[name])
    if (!success) throw new UnaskableError(`the field ${name} is not one that MCP forms can have`)
    return [name, JSON.parse(JSON.stringify(data))]
  })
  const { success, data } = z.array(z.enum(names)).max(MAX_FIELDS).safeParse(required)
  if (!success) throw new UnaskableError('required lists something else than fields')
  const text = JSON.stringify(fields)
  if (scrub(text) !== text) throw new UnaskableError('requestedSchema contains a credential')
  return { type, properties: Object.fromEntries(fields), required: data, additionalProperties: false }
}

/** A link is shown and never fetched. Credentials in it would make its host hard to recognize. */
function urlOf(text: unknown, scrub: (text: string) => string): string {
  const isPlain = typeof text === 'string' && text.length <= MAX_URL && !/\s/.test(text) && !hasHidden(text)
  const url = isPlain && scrub(text) === text && URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UnaskableError('url is not an http or https URL that can be shown')
  }
  return url.href
}

/** Reads a result that requires input. Throws UnaskableError. */
export function readInputRequired(
  { inputRequests = {}, requestState }: { inputRequests?: unknown; requestState?: string | undefined },
  scrub: (text: string) => string,
): InputRequired {
  if (requestState !== undefined && requestState.length > MAX_STATE) {
    throw new UnaskableError(`its requestState is longer than ${MAX_STATE} characters`)
  }
  const entries = isObject(inputRequests) ? Object.entries(inputRequests) : []
  if (entries.length > MAX_REQUESTS) throw new UnaskableError(`it asks for more than ${MAX_REQUESTS} inputs`)
  const requests = entries.map(([key, request]) => {
    const { method, params } = isObject(request) ? request : {}
    if (key.length > MAX_NAME) throw new UnaskableError('the key of an input request is too long')
    if (method !== 'elicitation/create') throw new UnaskableError(notOffered(method))
    return { key, elicitation: readElicitation(params, scrub) }
  })
  return new InputRequired(requests, requestState, true)
}

/** The pages that a legacy upstream wants opened before it accepts the call. Throws UnaskableError. */
export function readUrlsRequired(elicitations: unknown, scrub: (text: string) => string): InputRequired {
  if (!Array.isArray(elicitations) || elicitations.length === 0 || elicitations.length > MAX_REQUESTS) {
    throw new UnaskableError('its list of pages to open is empty or too long')
  }
  const requests = elicitations.map((params, i) => ({
    key: String(i),
    elicitation: readElicitation(isObject(params) ? { ...params, mode: 'url' } : params, scrub),
  }))
  return new InputRequired(requests, undefined, false)
}

/** The refusal of a request that only a client with its own model or folders could serve. */
export function notOffered(method: unknown): string {
  const named = typeof method === 'string' ? cleanLine(method, 64) : 'This request'
  return `${named} is not supported: AsyncGate declares elicitation only, and offers neither sampling nor roots`
}
