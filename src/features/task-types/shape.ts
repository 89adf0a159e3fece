import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { jsonObject, MAX_WAIT_SECONDS, ONE_YEAR, parse, seconds, text, time, withoutNulls } from '../input.ts'
import { webhookUrl } from '../webhooks/webhook-url.ts'
import type { Schemas } from './schemas.ts'
import { optionsOf, typeOptionFields } from './type-options.ts'

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** The prefix of the server's own tools, in both spellings. Types that workers publish cannot have it either. */
export const OWN_NAMES = /^asyncgate/i

export const DEFAULT_TOOL_WAIT_SECONDS = 25

export const taskTypeName = text(255).describe('Name of the task type')

export const toolFields = z.strictObject({
  name: z.string().optional().describe('Name of the tool; the task type if absent'),
  title: text(200).optional().describe('Title of the tool, for people'),
  description: text(4000)
    .optional()
    .describe('What the tool does, written for a model; the description of the type if absent'),
  wait_seconds: z
    .number()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .optional()
    .describe(`How long a call waits for the result; ${DEFAULT_TOOL_WAIT_SECONDS} if absent`),
})

const count = (max: number, min = 1) => z.int().min(min).max(max)

const fields = {
  description: text(4000).describe('What the task type is for; also the default description of its tool'),
  payload_schema: jsonObject.meta({
    type: 'object',
    description: 'JSON Schema 2020-12 of the payload. It can only refer to its own parts',
  }),
  output_schema: jsonObject.meta({
    type: 'object',
    description: 'JSON Schema 2020-12 of the result, for readers: results are not checked against it',
  }),
  ...typeOptionFields,
  escalation_class: count(1000, 0).describe(
    'Default escalation_class of tasks; the server decides if absent',
  ),
  result_channel: text(64).describe('The result channel in which results are stored'),
  webhook_url: webhookUrl.describe(
    'URL that receives a signed message when a task has ended, unless the task names another',
  ),
  estimated_runtime_seconds: seconds(ONE_YEAR).describe('Usual run time of tasks, returned by create_task'),
  poll_suggestion_seconds: seconds(ONE_YEAR).describe(
    'Suggested delay before the first status check, returned by create_task',
  ),
  max_payload_bytes: count(256 * 1024 * 1024).describe(
    'Maximum size of the payload, if it is smaller than the limit of the server',
  ),
  tool: toolFields.describe('Offers the task type as an MCP tool'),
  milestones: z
    .array(text(200))
    .max(100)
    .describe('Progress whose milestone or message is one of these is delivered to the inbox of the owner'),
}

/** Every field but type may also be null, which means the same as absent. */
export const registerTaskTypeInput = z.strictObject({
  type: taskTypeName,
  ...z
    .strictObject({
      ...fields,
      enabled: z.boolean().describe('Whether tasks of this type can be created; true if absent'),
    })
    .partial().shape,
})

const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullable().describe(`${schema.description ?? ''}. Null if not set`)

export const taskTypeShape = z.object({
  type: z.string().describe('Name of the task type'),
  description: orNull(fields.description),
  payload_schema: orNull(fields.payload_schema),
  output_schema: orNull(fields.output_schema),
  default_priority: orNull(fields.default_priority),
  default_max_attempts: orNull(fields.default_max_attempts),
  default_retry_backoff_seconds: orNull(fields.default_retry_backoff_seconds),
  default_retry: orNull(fields.default_retry),
  default_timeout_seconds: orNull(fields.default_timeout_seconds),
  default_labels: orNull(fields.default_labels),
  concurrency: orNull(fields.concurrency),
  rate: orNull(fields.rate),
  retention_days: orNull(fields.retention_days),
  idempotency_key_path: orNull(fields.idempotency_key_path),
  escalation_class: orNull(fields.escalation_class),
  result_channel: orNull(fields.result_channel),
  webhook_url: orNull(fields.webhook_url),
  estimated_runtime_seconds: orNull(fields.estimated_runtime_seconds),
  poll_suggestion_seconds: orNull(fields.poll_suggestion_seconds),
  max_payload_bytes: orNull(fields.max_payload_bytes),
  enabled: z.boolean().describe('Whether tasks of this type can be created'),
  tool: orNull(fields.tool),
  milestones: orNull(fields.milestones),
  version: z.int().describe('Number of the change, counted from 1; 0 for a type that only workers publish'),
  created_at: time.describe('When the type was first registered or published'),
  updated_at: time.describe('When the type was last changed'),
})

const liveWorkers = z
  .int()
  .nullable()
  .describe('Number of recently active workers that take this type; null if not known')

const usualSeconds = z
  .number()
  .nullable()
  .describe(
    'Usual time from creation to success, in seconds: the median of recent tasks, else the registered estimate; null if not known',
  )

/** A type as get_task_type and list_task_types return it. */
export const listedTypeShape = taskTypeShape.extend({
  published_by: z
    .enum(['registered', 'worker'])
    .describe('registered: by an admin, which takes precedence; worker: by the workers that serve the type'),
  conflict: z
    .boolean()
    .describe('Whether live workers publish different schemas for this type. The newest one counts'),
  live_workers: liveWorkers,
  usual_seconds: usualSeconds,
})

export const summaryTypeShape = z.object({
  type: z.string().describe('Name of the task type'),
  description: z.string().nullable().describe('What the task type is for, on one line'),
  required: z.array(z.string()).readonly().describe('Names of the payload fields that are required'),
  payload_schema: jsonObject
    .optional()
    .describe('JSON Schema of the payload, if this is the only type of the page'),
  live_workers: liveWorkers,
  usual_seconds: usualSeconds,
})

/** A registered type; absent fields are null. */
export type TaskTypeView = z.output<typeof taskTypeShape>
export type TaskTypeDraft = Omit<TaskTypeView, 'version' | 'created_at' | 'updated_at'>

/** Parses and checks a registration. */
export function readTaskType(schemas: Schemas, input: unknown): Promise<TaskTypeDraft> {
  return checkedTaskType(schemas, parse(registerTaskTypeInput, withoutNulls(input)))
}

/** Checks what the schema of a registration cannot express. */
export async function checkedTaskType(
  schemas: Schemas,
  asked: z.output<typeof registerTaskTypeInput>,
): Promise<TaskTypeDraft> {
  const draft: TaskTypeDraft = {
    type: asked.type,
    description: asked.description ?? null,
    payload_schema: asked.payload_schema ?? null,
    output_schema: asked.output_schema ?? null,
    ...optionsOf(asked),
    escalation_class: asked.escalation_class ?? null,
    result_channel: asked.result_channel ?? null,
    webhook_url: asked.webhook_url ?? null,
    estimated_runtime_seconds: asked.estimated_runtime_seconds ?? null,
    poll_suggestion_seconds: asked.poll_suggestion_seconds ?? null,
    max_payload_bytes: asked.max_payload_bytes ?? null,
    enabled: asked.enabled ?? true,
    tool: asked.tool ?? null,
    milestones: asked.milestones ?? null,
  }
  const { payload_schema, output_schema } = draft
  if (payload_schema !== null) await schemas.checkSchema(payload_schema, 'payload_schema')
  if (output_schema !== null) await schemas.checkSchema(output_schema, 'output_schema')
  if (draft.tool !== null) checkTool(draft)
  return draft
}

export function toolName({ type, tool }: TaskTypeDraft): string {
  return tool?.name ?? type
}

function checkTool(draft: TaskTypeDraft): void {
  const name = toolName(draft)
  if (!TOOL_NAME.test(name)) {
    const because = draft.tool?.name === undefined ? ', which the type is not: give the tool a name' : ''
    throw invalid('tool.name', `must be 1 to 64 letters, digits, _ and -${because}`)
  }
  if (OWN_NAMES.test(name)) throw invalid('tool.name', 'must not begin with asyncgate')
  if (name.includes('__')) {
    throw invalid('tool.name', 'must not contain __, which separates an upstream from its tool')
  }
  if (!isObjectSchema(draft.payload_schema)) {
    throw invalid('payload_schema.type', 'must be "object": the arguments of a tool are an object')
  }
}

/** Whether values are the arguments of a tool. Without a schema, any object is. */
export function isObjectSchema(schema: JsonObject | null): boolean {
  return schema === null || schema.type === 'object'
}
