import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, canonicalWithin, type JsonObject } from '../../core/json/json.ts'
import { cleanLine, cleanText, hasHidden } from '../../util/untrusted-text.ts'
import { jsonObject, text } from '../input.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { Schemas } from './schemas.ts'
import { isObjectSchema, OWN_NAMES, taskTypeName, toolFields } from './shape.ts'
import { typeOptions } from './type-options.ts'

/** What a worker says about a task type that it serves. Absent fields are null. */
export interface PublishedType {
  readonly type: string
  readonly description: string | null
  readonly input_schema: JsonObject | null
  readonly output_schema: JsonObject | null
  /** Whether the type may be an MCP tool, and how; null: as the server decides. */
  readonly tool: boolean | z.output<typeof toolFields> | null
  /** Absent where earlier versions stored the type, or if it has none. */
  readonly options?: z.output<typeof typeOptions> | undefined
}

const MAX_TYPES = 200
const MAX_BYTES = 256 * 1024
const MAX_DESCRIPTION = 2000

export const publishedTypesInput = z
  .array(
    z.strictObject({
      type: taskTypeName,
      description: text(MAX_DESCRIPTION)
        .optional()
        .describe('What the task type is for. Hidden characters are removed'),
      input_schema: jsonObject
        .optional()
        .describe('JSON Schema 2020-12 of the payload. A task whose payload does not match is refused'),
      output_schema: jsonObject.optional().describe('JSON Schema 2020-12 of the result'),
      tool: z
        .union([z.boolean(), toolFields])
        .optional()
        .describe('Whether the type may be an MCP tool, or how the tool is called and described'),
      options: typeOptions
        .optional()
        .describe('How the server treats tasks of the type, unless an admin or the task says otherwise'),
    }),
  )
  .max(MAX_TYPES)

/** Checks what the schema of the input cannot express. `acceptTypes` are the types that the worker claims, if it said so. */
export async function checkedTypes(
  schemas: Schemas,
  given: z.output<typeof publishedTypesInput>,
  acceptTypes: readonly string[] | undefined,
): Promise<PublishedType[]> {
  canonicalWithin(given, 'task_types', MAX_BYTES)
  const types = given.map((asked) => ({
    type: asked.type,
    description: cleanText(asked.description ?? '', MAX_DESCRIPTION) || null,
    input_schema: asked.input_schema ?? null,
    output_schema: asked.output_schema ?? null,
    tool: cleanTool(asked.tool),
    ...(asked.options !== undefined && { options: asked.options }),
  }))
  const seen = new Set<string>()
  for (const [index, published] of types.entries()) {
    const path = `task_types.${index}`
    checkName(published.type, `${path}.type`)
    if (seen.has(published.type)) throw invalid(`${path}.type`, 'occurs twice')
    seen.add(published.type)
    if (acceptTypes?.includes(published.type) === false) {
      throw invalid(`${path}.type`, 'is not in accept_types')
    }
    checkTool(published, path)
  }
  // One schema at a time: those of other callers are checked in between.
  for (const [index, { input_schema, output_schema }] of types.entries()) {
    for (const [name, schema] of Object.entries({ input_schema, output_schema })) {
      if (schema !== null) await checkSchema(schemas, schema, `task_types.${index}.${name}`)
    }
  }
  return types
}

/** The types in a stable order, as JSON. Workers that publish the same types have the same text. */
export function typesText(types: readonly PublishedType[]): CanonicalJson {
  return canonical([...types].sort((a, b) => (a.type < b.type ? -1 : 1)))
}

async function checkSchema(schemas: Schemas, schema: JsonObject, path: string): Promise<void> {
  await schemas.checkSchema(schema, path)
  // Models read the descriptions in a schema, and people must see what models read.
  if (hasHidden(canonical(schema))) throw invalid(path, 'contains hidden characters')
}

function checkName(type: string, path: string): void {
  if (OWN_NAMES.test(type)) throw invalid(path, 'must not begin with asyncgate')
  if (type === TOOL_CALL) throw invalid(path, 'is reserved for calls of upstream tools')
  if (cleanLine(type, 255) !== type) {
    throw invalid(path, 'must not contain hidden characters, line breaks or superfluous white space')
  }
}

function checkTool({ tool, input_schema }: PublishedType, path: string): void {
  if (tool === null || tool === false) return
  if (!isObjectSchema(input_schema)) {
    throw invalid(
      `${path}.tool`,
      'needs an input_schema of type "object": the arguments of a tool are an object',
    )
  }
  if (tool !== true && tool.name !== undefined && OWN_NAMES.test(tool.name)) {
    throw invalid(`${path}.tool.name`, 'must not begin with asyncgate')
  }
}

function cleanTool(tool: boolean | z.output<typeof toolFields> | undefined): PublishedType['tool'] {
  if (tool === undefined || typeof tool === 'boolean') return tool ?? null
  const { title, description, ...rest } = tool
  return {
    ...rest,
    ...(title !== undefined && { title: cleanLine(title, 200) }),
    ...(description !== undefined && { description: cleanText(description, MAX_DESCRIPTION) }),
  }
}
