import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { inputSchema, type JsonSchema, type Operation } from '../../features/define-operation.ts'
import { isObject } from '../../util/guards.ts'

type InputSchema = Tool['inputSchema']

/** Limits that a model rarely meets. They are enforced, and an error names the limit. */
const LIMITS: ReadonlySet<string> = new Set([
  'additionalProperties',
  'exclusiveMinimum',
  'format',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'propertyNames',
])

/** The input of an operation as a model needs it: the usual fields, without limits. */
export function modelSchema(operation: Pick<Operation, 'input' | 'modelFields' | 'summary'>): InputSchema {
  const { properties = {}, required } = objectSchema.parse(inputSchema(operation))
  const { modelFields, summary } = operation
  const shown = modelFields ?? Object.keys(properties)
  const entries = shown.map((name) => [name, fieldSchema(properties[name], summary?.defaults?.[name])])
  const needed = required?.filter((name) => shown.includes(name)) ?? []
  return {
    type: 'object',
    properties: Object.fromEntries(entries),
    ...(needed.length > 0 && { required: needed }),
  }
}

function fieldSchema(schema: unknown, fallback: unknown): unknown {
  if (!isObject(schema)) return schema
  return { ...withoutLimits(schema), ...(fallback !== undefined && { default: fallback }) }
}

function withoutLimits(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (LIMITS.has(key)) return []
    if (key === 'properties' && isObject(value)) {
      const fields = Object.entries(value).map(([name, field]) => [name, fieldSchema(field, undefined)])
      return [[key, Object.fromEntries(fields)]]
    }
    if (key === 'items' && isObject(value)) return [[key, withoutLimits(value)]]
    return [[key, value]]
  })
  return Object.fromEntries(entries)
}

/** The complete input of an operation, with the arguments that identify the caller. */
export function completeSchema(operation: Pick<Operation, 'input' | 'actor'>): InputSchema {
  const { properties, ...rest } = objectSchema.parse(inputSchema(operation))
  const identity = IDENTITY[operation.actor === 'worker' ? 'worker' : 'agent']
  // A field of the operation with the same name has the better description.
  return { ...rest, type: 'object', properties: { ...properties, ...identity, ...properties } }
}

/** Adds the argument by which a client without a name says who calls. */
export function withAgentId(schema: InputSchema): InputSchema {
  return { ...schema, properties: { agent_id: AGENT_ID, ...schema.properties } }
}

const name = (description: string) => ({ type: 'string', description })

const AGENT_ID = name('Who you are, under a shared key')

const ANYONE = {
  tenant_id: name('Your tenant; only for checking'),
  auth_token: name('Your key, if you cannot send it as a header'),
  trace_id: name('Your own mark for this call'),
}

/** The arguments that identify the caller. A bound key does that by itself. */
const IDENTITY = {
  agent: {
    agent_id: AGENT_ID,
    principal_kind: { type: 'string', description: 'agent unless said otherwise' },
    principal_id: name('The same as agent_id, for any kind'),
    ...ANYONE,
  },
  worker: {
    worker_kind: { type: 'string', enum: ['worker', 'service'], description: 'worker unless said otherwise' },
    worker_instance_id: name('Which of your processes calls'),
    ...ANYONE,
  },
}

const objectSchema = z.looseObject({
  properties: z.record(z.string(), z.json()).optional(),
  required: z.array(z.string()).optional(),
})
