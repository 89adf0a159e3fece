import { z } from 'zod'
import { type JsonSchema, schemaOf } from '../../features/define-operation.ts'
import type { Endpoint, EndpointResponse, MediaTypes } from '../endpoint.ts'
import { errorRef } from './errors.ts'

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

/** The operation object of a route that is not in the catalogue. */
export function endpointOperation(endpoint: Endpoint): PathOperation {
  const { name, tag, title, description, isPublic, body, responses } = endpoint
  const parameters = parametersOf(endpoint)
  return {
    operationId: name,
    tags: [tag],
    summary: title,
    ...(description !== undefined && { description }),
    ...(isPublic && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: requestBody(body) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
      ),
      ...Object.fromEntries(endpoint.errors.map((status) => [status, errorRef(status)])),
    },
  }
}

function parametersOf({ path, parameters }: Endpoint): JsonSchema[] {
  if (parameters === undefined) return []
  const { properties = {}, required } = objectSchema.parse(schemaOf(parameters, 'input'))
  return Object.entries(properties).map(([name, schema]) =>
    parameter(path.includes(`{${name}}`) ? 'path' : 'query', name, schema, required.includes(name)),
  )
}

const objectSchema = z.object({
  properties: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  required: z.array(z.string()).default([]),
})

function requestBody(body: z.ZodObject | MediaTypes): JsonSchema {
  if ('mediaTypes' in body) return { required: true, content: contentOf(body) }
  const schema = schemaOf(body, 'input')
  const { required } = objectSchema.parse(schema)
  return { required: required.length > 0, content: { 'application/json': { schema } } }
}

function responseOf({ description, content }: EndpointResponse): JsonSchema {
  if (content === undefined) return { description }
  if ('mediaTypes' in content) return { description, content: contentOf(content) }
  return { description, content: { 'application/json': { schema: schemaOf(content, 'output') } } }
}

function contentOf({ mediaTypes }: MediaTypes): JsonSchema {
  return Object.fromEntries(Object.entries(mediaTypes).map(([type, schema]) => [type, { schema }]))
}
