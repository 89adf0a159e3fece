import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { jsonObject, MAX_WAIT_SECONDS, ONE_YEAR, parse, seconds, text, withoutNulls } from '../input.ts'
import type { Schemas } from './schemas.ts'

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** The gate's own tools begin with it, in both spellings. */
const OWN_TOOLS = /^asyncgate/i

export const DEFAULT_TOOL_WAIT_SECONDS = 25

const tool = z.strictObject({
  name: z.string().optional().meta({ description: 'The type itself if absent' }),
  title: text(200).optional(),
  description: text(4000).optional(),
  wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).optional(),
})

const count = (max: number, min = 1) => z.int().min(min).max(max)

const optional = {
  description: text(4000),
  payload_schema: jsonObject.meta({
    type: 'object',
    description: 'JSON Schema 2020-12 of the payload; references lead to its own parts only',
  }),
  default_priority: count(1000, -1000),
  default_max_attempts: count(1000),
  default_retry_backoff_seconds: seconds(ONE_YEAR),
  default_timeout_seconds: seconds(ONE_YEAR, 1),
  retention_days: count(36_500),
  result_channel: text(64),
  estimated_runtime_seconds: seconds(ONE_YEAR),
  poll_suggestion_seconds: seconds(ONE_YEAR),
  max_payload_bytes: count(256 * 1024 * 1024),
  tool: tool.meta({ description: 'Shows the type as an MCP tool of its own' }),
  milestones: z.array(text(200)).max(100).meta({
    description: 'Progress whose milestone or message is one of these goes to the inbox of the owner',
  }),
}

/** Each of them may be null too, which is the same as absent. */
export const registerTaskTypeInput = z.strictObject({
  type: text(255),
  ...z.strictObject({ ...optional, enabled: z.boolean() }).partial().shape,
})

const time = z.iso.datetime()

export const taskTypeShape = z.object({
  type: z.string(),
  description: z.string().nullable(),
  payload_schema: jsonObject.nullable(),
  default_priority: z.int().nullable(),
  default_max_attempts: z.int().nullable(),
  default_retry_backoff_seconds: z.int().nullable(),
  default_timeout_seconds: z.int().nullable(),
  retention_days: z.int().nullable(),
  result_channel: z.string().nullable(),
  estimated_runtime_seconds: z.int().nullable(),
  poll_suggestion_seconds: z.int().nullable(),
  max_payload_bytes: z.int().nullable(),
  enabled: z.boolean(),
  tool: tool.nullable(),
  milestones: z.array(z.string()).nullable(),
  version: z.int().meta({ description: 'Counts the changes' }),
  created_at: time,
  updated_at: time,
})

/** A type as it was registered; what was left out is null. */
export type TaskTypeView = z.output<typeof taskTypeShape>
export type TaskTypeDraft = Omit<TaskTypeView, 'version' | 'created_at' | 'updated_at'>

/** A type that can be registered, or why it cannot. */
export async function readTaskType(schemas: Schemas, input: unknown): Promise<TaskTypeDraft> {
  const asked = parse(registerTaskTypeInput, withoutNulls(input))
  const draft: TaskTypeDraft = {
    type: asked.type,
    description: asked.description ?? null,
    payload_schema: asked.payload_schema ?? null,
    default_priority: asked.default_priority ?? null,
    default_max_attempts: asked.default_max_attempts ?? null,
    default_retry_backoff_seconds: asked.default_retry_backoff_seconds ?? null,
    default_timeout_seconds: asked.default_timeout_seconds ?? null,
    retention_days: asked.retention_days ?? null,
    result_channel: asked.result_channel ?? null,
    estimated_runtime_seconds: asked.estimated_runtime_seconds ?? null,
    poll_suggestion_seconds: asked.poll_suggestion_seconds ?? null,
    max_payload_bytes: asked.max_payload_bytes ?? null,
    enabled: asked.enabled ?? true,
    tool: asked.tool ?? null,
    milestones: asked.milestones ?? null,
  }
  if (draft.payload_schema !== null) await schemas.checkSchema(draft.payload_schema, 'payload_schema')
  if (draft.tool !== null) checkTool(draft)
  return draft
}

export function toolName({ type, tool }: TaskTypeDraft): string {
  return tool?.name ?? type
}

function checkTool(draft: TaskTypeDraft): void {
  const name = toolName(draft)
  if (!TOOL_NAME.test(name)) {
    const because = draft.tool?.name === undefined ? ', so it cannot be the type: give one' : ''
    throw invalid('tool.name', `is 1 to 64 letters, digits, _ and -${because}`)
  }
  if (OWN_TOOLS.test(name)) throw invalid('tool.name', 'must not begin with asyncgate')
  if (name.includes('__')) {
    throw invalid('tool.name', 'must not contain __, which stands between an upstream and its tool')
  }
  if (draft.payload_schema !== null && draft.payload_schema.type !== 'object') {
    throw invalid('payload_schema.type', 'must be "object": the arguments of a tool are an object')
  }
}
