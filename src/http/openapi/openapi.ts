import { PRINCIPAL_KINDS } from '../../core/principal.ts'
import { findOperation } from '../../features/catalogue.ts'
import {
  inputSchema,
  type JsonSchema,
  type Operation,
  outputSchema,
  schemaOf,
} from '../../features/define-operation.ts'
import { VIEW_DESCRIPTION, VIEWS } from '../../features/summary.ts'
import { VERSION } from '../../util/version.ts'
import type { Endpoint } from '../endpoint.ts'
import { endpointOperation, type PathOperation, parameter } from './endpoints.ts'
import { errorRef, errorResponses, errorSchema, statusesOf } from './errors.ts'

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: JsonSchema
  readonly servers: readonly JsonSchema[]
  readonly security: readonly JsonSchema[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, JsonSchema>>
    readonly securitySchemes: JsonSchema
  }
}

const TAGS = [
  { name: 'tasks', description: 'Tasks: creating, reading, waiting, canceling' },
  { name: 'leases', description: 'For workers: claiming tasks, renewing leases, reporting results' },
  { name: 'workers', description: 'Registered workers and draining' },
  { name: 'task types', description: 'Schemas and defaults of task types' },
  { name: 'receipts', description: 'The ledger: receipts and open obligations' },
  { name: 'email', description: 'Email that agents send and receive' },
  { name: 'server', description: 'The server itself' },
  { name: 'lease protocol', description: 'The AsyncGate lease protocol 1.0' },
  { name: 'worker port', description: 'The worker port, in which a lease is called a run' },
] as const

/** The OpenAPI 3.1 document of all operations and other endpoints. */
export function openApi(operations: readonly Operation[], endpoints: readonly Endpoint[]): OpenApi {
  const schemas = sharedSchemas()
  const refer = referTo(schemas)
  const paths: Record<string, Record<string, PathOperation>> = {}
  const add = (method: string, path: string, operation: PathOperation) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  for (const operation of operations) {
    add(operation.rest.method, operation.rest.path, pathOperation(operation, refer))
  }
  for (const endpoint of endpoints) add(endpoint.method, endpoint.path, endpointOperation(endpoint))
  return {
    openapi: '3.1.0',
    info: {
      title: 'AsyncGate',
      version: VERSION,
      description:
        'A durable task gateway for AI agents. Every operation is also an MCP tool at /mcp, under the name in x-mcp-tool.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: TAGS,
    paths,
    components: {
      schemas,
      responses: errorResponses(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer KEY' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  }
}

function pathOperation(operation: Operation, refer: (schema: JsonSchema) => JsonSchema): PathOperation {
  const { method, path } = operation.rest
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  const input = inputSchema(operation)
  const required = Array.isArray(input.required) ? input.required.map(String) : []
  const properties = { ...identityFields(operation), ...membersOf(input.properties) }
  const rest = Object.entries(properties).filter(([name]) => !inPath.includes(name))
  const parameters = [
    ...inPath.map((name) => parameter('path', name, properties[name], true)),
    ...(method === 'GET' ? rest : []).map(([name, schema]) =>
      name === 'labels' ? LABEL_PARAMETER : parameter('query', name, schema, required.includes(name)),
    ),
    ...(operation.summary === undefined ? [] : [VIEW_PARAMETER]),
  ]
  const missing = required.filter((name) => !inPath.includes(name))
  const body = {
    type: 'object',
    properties: Object.fromEntries(rest),
    ...(missing.length > 0 && { required: missing }),
    additionalProperties: false,
  }
  return {
    operationId: operation.name,
    tags: [tagOf(operation)],
    summary: operation.title,
    description: operation.description,
    ...(operation.name === 'bootstrap' && { deprecated: true }),
    ...(operation.name === 'health' && { security: [] }),
    'x-mcp-tool': `asyncgate_${operation.name}`,
    ...(parameters.length > 0 && { parameters }),
    ...(method === 'POST' && {
      requestBody: { required: missing.length > 0, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      200: {
        description: 'Success',
        content: {
          'application/json': {
            schema: refer(outputSchema(operation)),
            ...(operation.summary && { 'x-summary-schema': schemaOf(operation.summary.shape, 'output') }),
          },
        },
      },
      ...Object.fromEntries(statusesOf(method).map((status) => [status, errorRef(status)])),
    },
  }
}

const VIEW_PARAMETER = parameter(
  'query',
  'view',
  { enum: VIEWS, default: 'full', description: `${VIEW_DESCRIPTION}, as in x-summary-schema` },
  false,
)

const LABEL_PARAMETER = {
  name: 'label.KEY',
  in: 'query',
  description: 'One parameter per label: KEY is its name, for example label.team=search',
  schema: { type: 'string' },
} as const

/** The fields that name the caller of a request under a shared key. */
function identityFields({ actor, name }: Operation): Record<string, JsonSchema> {
  const text = (description: string): JsonSchema => ({ type: 'string', maxLength: 255, description })
  if (name === 'health') return {}
  if (actor === 'worker') {
    return {
      worker_kind: {
        enum: ['worker', 'service'],
        description: 'The kind of the caller under a shared key; worker by default',
      },
      worker_instance_id: text('The instance of the worker under a shared key'),
    }
  }
  return {
    principal_kind: {
      enum: PRINCIPAL_KINDS.filter((kind) => kind !== 'system'),
      description: 'The kind of the caller under a shared key; agent by default',
    },
    principal_id: text('The caller under a shared key'),
    principal_instance_id: text('The instance of the caller under a shared key'),
  }
}

function tagOf({ actor, rest }: Operation): string {
  const [, , place] = rest.path.split('/')
  if (place === 'workers') return 'workers'
  if (actor === 'worker') return 'leases'
  if (place === 'task-types') return 'task types'
  if (place === 'emails' || rest.path.endsWith('/email')) return 'email'
  if (place === 'tasks') return 'tasks'
  return place === 'config' || place === 'health' ? 'server' : 'receipts'
}

/** Shapes that appear in many responses. */
function sharedSchemas(): Record<string, JsonSchema> {
  const output = (name: string): JsonSchema => {
    const operation = findOperation(name)
    return operation === undefined ? {} : outputSchema(operation)
  }
  const item = (schema: JsonSchema, member: string) =>
    membersOf(membersOf(membersOf(schema.properties)[member])).items ?? {}
  const obligations = membersOf(output('list_open_obligations').properties)
  return {
    Task: output('get_task'),
    Receipt: output('get_receipt'),
    Offer: item(output('lease_next'), 'tasks'),
    Server: obligations.server ?? {},
    Relationship: obligations.relationship ?? {},
    Error: errorSchema(),
  }
}

/** Replaces each shared schema with a reference. */
function referTo(schemas: Readonly<Record<string, JsonSchema>>): (schema: JsonSchema) => JsonSchema {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]))
  const replace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replace)
    if (typeof value !== 'object' || value === null) return value
    const name = names.get(JSON.stringify(value))
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replace(member)]))
  }
  return (schema) => membersOf(replace(schema))
}

function membersOf(value: unknown): Record<string, JsonSchema> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}
