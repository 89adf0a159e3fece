import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { canonical, type Json, type JsonObject } from '../../core/json/json.ts'
import { readOf } from '../../features/upstreams/reads.ts'
import { isObject } from '../../util/guards.ts'
import { cleanText, hasHidden } from '../../util/untrusted-text.ts'

/** The definition of a tool as its upstream sends it. It is pinned by its hash. */
export interface Definition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}

/** A definition with its hash, or why it is rejected. */
export type ReadDefinition =
  | { readonly definition: Definition; readonly hash: string }
  | { readonly name: string; readonly unfit: string }

const MAX_TOOL_NAME = 256
const MAX_DEFINITION_BYTES = 64 * 1024
const MAX_TITLE = 200
const MAX_DESCRIPTION = 4000

const schema = z.custom<JsonObject>(isObject, 'is not an object')

const wireTool = z.looseObject({
  name: z.string().min(1).max(MAX_TOOL_NAME),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: schema,
  outputSchema: schema.optional(),
  annotations: schema.optional(),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional(),
})

/** `overHttp`: whether arguments may be sent in headers too. */
export function readDefinition(raw: unknown, overHttp: boolean): ReadDefinition {
  const parsed = wireTool.safeParse(raw)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { name: nameOf(raw), unfit: `its definition is not valid: ${issue?.path.join('.')}` }
  }
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = parsed.data
  if (/[\n\t]/.test(name) || hasHidden(name))
    return { name: nameOf(raw), unfit: 'its name has characters that do not show' }
  if (readOf(name) !== undefined) return { name, unfit: 'its name is that of reading a prompt or a resource' }
  if (inputSchema.type !== 'object') return { name, unfit: 'its arguments are not an object' }
  if (execution?.taskSupport === 'required') return { name, unfit: 'it can only be called as a task' }
  const definition: Definition = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  }
  try {
    const text = canonical(definition)
    if (Buffer.byteLength(text) > MAX_DEFINITION_BYTES) return { name, unfit: 'its definition is too large' }
    if (overHttp && !hasFitHeaders(inputSchema)) return { name, unfit: 'its x-mcp-header is not valid' }
    return { definition, hash: createHash('sha256').update(text).digest('hex') }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { name, unfit: 'its definition is not plain JSON' }
  }
}

const HEADER = 'x-mcp-header'

/** Every x-mcp-header must be a unique header name on a plain property at a fixed path, as MCP requires. */
function hasFitHeaders(inputSchema: JsonObject): boolean {
  const found: string[] = []
  const visit = ({ properties }: JsonObject): boolean =>
    !isObject(properties) ||
    Object.values(properties).every((property) => {
      if (!isObject(property)) return true
      const header = property[HEADER]
      if (header !== undefined) {
        const isPlain =
          property.type === 'string' || property.type === 'integer' || property.type === 'boolean'
        if (typeof header !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(header) || !isPlain) return false
        found.push(header.toLowerCase())
      }
      return visit(property)
    })
  return (
    visit(inputSchema) &&
    new Set(found).size === found.length &&
    found.length === countOf(HEADER, inputSchema)
  )
}

function countOf(key: string, value: Json): number {
  if (isList(value)) return value.reduce((sum: number, item) => sum + countOf(key, item), 0)
  if (!isObject(value)) return 0
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + (name === key ? 1 : countOf(key, member)),
    0,
  )
}

/** The definition for clients: its structure is unchanged, its texts are cleaned. */
export function shownDefinition(definition: Definition): Omit<Definition, 'name'> & { description: string } {
  const { title, description, inputSchema, outputSchema, annotations } = definition
  return {
    ...(title !== undefined && { title: cleanText(title, MAX_TITLE) }),
    description: cleanText(description ?? '', MAX_DESCRIPTION),
    inputSchema: cleanSchema(inputSchema),
    ...(outputSchema !== undefined && { outputSchema: cleanSchema(outputSchema) }),
    ...(annotations !== undefined && { annotations: hintsOf(annotations) }),
  }
}

/** The hints that MCP defines. They are claims of the upstream. */
function hintsOf(annotations: JsonObject): JsonObject {
  const names = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']
  const hints = Object.entries(annotations).filter(
    ([name, value]) => names.includes(name) && typeof value === 'boolean',
  )
  const { title } = annotations
  return Object.fromEntries(
    typeof title === 'string' ? [...hints, ['title', cleanText(title, MAX_TITLE)]] : hints,
  )
}

/** Members of a schema whose values are part of the contract and must not be cleaned. */
const VALUES = new Set(['const', 'default', 'enum', 'examples'])

function cleanSchema(schemaObject: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemaObject).map(([key, value]) => [
      key,
      VALUES.has(key) ? value : cleanMember(key, value),
    ]),
  )
}

function cleanMember(key: string, value: Json): Json {
  if (typeof value === 'string') {
    return key === 'description' || key === 'title' || key === '$comment'
      ? cleanText(value, MAX_DESCRIPTION)
      : value
  }
  if (isList(value)) return value.map((item) => cleanMember('', item))
  return isObject(value) ? cleanSchema(value) : value
}

/** A printable name for a tool whose definition is invalid. */
function nameOf(raw: unknown): string {
  const name = isObject(raw) ? raw.name : undefined
  return typeof name === 'string' ? cleanText(name, 64) : '?'
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
