import type { JsonSchema } from '../../features/define-operation.ts'

/** An operation object of an OpenAPI document. */
export interface PathOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly 'x-mcp-tool'?: string
  readonly security?: readonly JsonSchema[]
  readonly parameters?: readonly JsonSchema[]
  readonly requestBody?: JsonSchema
  readonly responses: Readonly<Record<string, JsonSchema>>
}

export function parameter(
  location: 'path' | 'query',
  name: string,
  schema: JsonSchema = {},
  required = false,
): JsonSchema {
  return { name, in: location, ...(required && { required }), schema }
}
