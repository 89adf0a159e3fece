import { type JsonSchema, type StandardSchema, TARGET } from './schema.ts'
import type { TaskDefinition } from './task.ts'

/** What the server learns about a task type. */
export interface PublishedType {
  readonly type: string
  readonly description?: string | undefined
  readonly input_schema?: JsonSchema | undefined
  readonly output_schema?: JsonSchema | undefined
  readonly tool?: TaskDefinition['tool']
  readonly options?: TaskDefinition['options']
}

/** Called for a schema that cannot be published. */
export type OnOmitted = (fields: {
  readonly type: string
  readonly field: string
  readonly error: unknown
}) => void

/** `tools` applies to tasks that do not say whether they are tools. */
export function publishedType(
  definition: TaskDefinition,
  tools: boolean | undefined,
  onOmitted: OnOmitted,
): PublishedType {
  const { name: type, description, input, output, inputSchema, outputSchema, tool = tools } = definition
  const convert = (side: 'input' | 'output', schema: StandardSchema | undefined) => {
    try {
      return schema && converted(schema, side)
    } catch (error) {
      onOmitted({ type, field: `${side}_schema`, error })
      return undefined
    }
  }
  return {
    type,
    description,
    input_schema: inputSchema === false ? undefined : (inputSchema ?? convert('input', input)),
    output_schema: outputSchema === false ? undefined : (outputSchema ?? convert('output', output)),
    tool,
    options: definition.options,
  }
}

/** Throws if the library cannot convert the schema. */
function converted(schema: StandardSchema, side: 'input' | 'output'): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard']
  const convert = jsonSchema?.[side]
  if (convert === undefined) {
    throw new TypeError(`Its library, ${vendor}, has no Standard JSON Schema: set ${side}Schema.`)
  }
  const libraryOptions = vendor === 'zod' ? zodOptions(side) : undefined
  return convert({ target: TARGET, ...(libraryOptions && { libraryOptions }) })
}

/**
 * The JSON Schema must accept every payload that the schema accepts, since the server refuses all others. Where zod converts
 * a part more strictly than it validates it, that part becomes unrestricted; the worker validates it anyway.
 */
function zodOptions(side: 'input' | 'output'): Record<string, unknown> {
  return {
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: Record<string, unknown> }) {
      // A name for reuse in other documents.
      delete jsonSchema.id
      if (side === 'output') return
      const def = at(zodSchema, '_zod', 'def')
      if (isLenient(zodSchema)) clear(jsonSchema)
      else if (at(def, 'type') === 'object') keepRequired(jsonSchema, at(def, 'shape'))
      else if (hasFlaggedPattern(def)) {
        delete jsonSchema.pattern
        delete jsonSchema.allOf
      }
    },
  }
}

/** Whether it accepts values of other types: it converts or replaces them. */
function isLenient(schema: unknown): boolean {
  const def = at(schema, '_zod', 'def')
  const type = at(def, 'type')
  return (
    at(def, 'coerce') === true ||
    type === 'catch' ||
    (type === 'pipe' && at(def, 'in', '_zod', 'def', 'type') === 'transform')
  )
}

/** A lenient field may also be absent. */
function keepRequired(jsonSchema: Record<string, unknown>, shape: unknown): void {
  const { required } = jsonSchema
  if (Array.isArray(required)) jsonSchema.required = required.filter((name) => !isLenient(at(shape, name)))
}

/** JSON Schema has no flags: a pattern without its flags would match less. */
function hasFlaggedPattern(def: unknown): boolean {
  const checks = at(def, 'checks')
  const patterns = [at(def, 'pattern'), ...(Array.isArray(checks) ? checks.map(patternOf) : [])]
  return patterns.some((pattern) => pattern instanceof RegExp && /[imsv]/.test(pattern.flags))
}

function patternOf(check: unknown): unknown {
  return at(check, '_zod', 'def', 'pattern')
}

function clear(jsonSchema: Record<string, unknown>): void {
  const { title, description } = jsonSchema
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
  if (title !== undefined) jsonSchema.title = title
  if (description !== undefined) jsonSchema.description = description
}

/** The member at a path of names; undefined if there is none. */
function at(value: unknown, ...path: readonly unknown[]): unknown {
  let current = value
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = Reflect.get(current, String(name))
  }
  return current
}
