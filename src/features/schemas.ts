import { z } from 'zod'
import type { Operation } from './define-operation.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** The JSON Schema (2020-12) of what a client sends. */
export function inputSchema(operation: Pick<Operation, 'input'>): JsonSchema {
  return schemaOf(operation.input, 'input')
}

/** The JSON Schema (2020-12) of the answer. */
export function outputSchema(operation: Pick<Operation, 'output'>): JsonSchema {
  return schemaOf(operation.output, 'output')
}

/** Places that take any JSON, or that only code can check, are open in the schema. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => shorten(jsonSchema),
  })
  return rest
}

/** Leaves out what the rest of a schema says already: it is read by models, and paid for by the token. */
function shorten(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'date-time') delete schema.pattern
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  delete schema.readOnly
}
