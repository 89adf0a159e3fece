import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { nextCursor, pageLimit, text, withoutNulls } from '../input.ts'
import { summaryView } from '../summary.ts'
import { checkWebhooks } from '../webhooks/webhook-url.ts'
import type { WorkerRegistry } from '../workers/registry.ts'
import type { UsualDurations } from './durations.ts'
import {
  checkedTaskType,
  listedTypeShape,
  registerTaskTypeInput,
  summaryTypeShape,
  type TaskTypeView,
  taskTypeName,
  taskTypeShape,
} from './shape.ts'
import type { TaskTypeRule } from './task-type-rule.ts'
import type { TaskTypes } from './task-types.ts'
import { optionsOf } from './type-options.ts'

const typeListShape = z.object({
  task_types: z.array(listedTypeShape).readonly().describe('The task types of this page'),
  next_cursor: nextCursor,
})

/** One row per type. A model that has found its type with query also gets the schema. */
const typeListSummary = summaryView({
  shape: z.object({ task_types: z.array(summaryTypeShape).readonly(), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: ({ task_types, next_cursor }: z.output<typeof typeListShape>) => ({
    task_types: task_types.map((type) => summaryOf(type, task_types.length === 1)),
    next_cursor,
  }),
})

const MAX_SUMMARY = 200

function summaryOf(
  { type, description, payload_schema, live_workers, usual_seconds }: ListedType,
  withSchema: boolean,
): z.output<typeof summaryTypeShape> {
  const required = Array.isArray(payload_schema?.required) ? payload_schema.required : []
  return {
    type,
    description: description === null ? null : cleanLine(description, MAX_SUMMARY),
    required: required.map(String),
    ...(withSchema && payload_schema !== null && { payload_schema }),
    live_workers,
    usual_seconds,
  }
}

export const getTaskType = defineOperation({
  name: 'get_task_type',
  title: 'Get a task type',
  description:
    'A task type: the schemas of its payload and its result, its defaults and limits, and how many live workers serve it.',
  input: z.strictObject({ type: taskTypeName }),
  output: listedTypeShape,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/task-types/{type}' },
  async run(services, caller, { type }) {
    const { tenant } = await services.engine.tenant(caller.tenant)
    const rule = (await services.taskTypes.fresh(tenant)).rules.get(type)
    if (rule === undefined) throw new Fault('TASK_TYPE_UNKNOWN', { type })
    return (await typeViews(services, tenant))(rule)
  },
})

export const listTaskTypes = defineOperation({
  name: 'list_task_types',
  title: 'List task types',
  description:
    'The task types that you can pass to create_task, with live workers and usual duration. Select one with query to see the schema of its payload. Repeat with next_cursor until it is null.',
  input: z.strictObject({
    query: text(255)
      .optional()
      .describe('Only types whose name or description contains this text, in upper or lower case'),
    limit: pageLimit,
    cursor: text(255).optional().describe('next_cursor of the previous page'),
  }),
  output: typeListShape,
  summary: typeListSummary,
  access: 'read',
  toolsets: ['agent', 'operator'],
  rest: { method: 'GET', path: '/v1/task-types' },
  async run(services, caller, { query = '', limit, cursor = '' }) {
    const { tenant } = await services.engine.tenant(caller.tenant)
    const { rules } = await services.taskTypes.fresh(tenant)
    const found = [...rules.values()]
      .filter((rule) => rule.view.type > cursor && isMatch(rule.view, query.toLowerCase()))
      .sort((a, b) => (a.view.type < b.view.type ? -1 : 1))
    const page = found.slice(0, limit)
    const viewOf = await typeViews(services, tenant)
    return {
      task_types: await Promise.all(page.map(viewOf)),
      next_cursor: found.length > limit ? (page.at(-1)?.view.type ?? null) : null,
    }
  },
})

type ListedType = z.output<typeof listedTypeShape>

interface ViewDeps {
  readonly workers: WorkerRegistry
  readonly durations: UsualDurations
}

/** Adds to a type what is known about its workers and its tasks. */
async function typeViews(
  { workers, durations }: ViewDeps,
  tenant: number,
): Promise<(rule: TaskTypeRule) => Promise<ListedType>> {
  const usual = await durations.of(tenant)
  return async ({ view, options, publishedBy, publishers }) => {
    const live_workers = (await workers.live.of(tenant, view.type)) ?? null
    const live = publishers.filter(([worker_id]) => workers.live.has(tenant, worker_id))
    return {
      ...view,
      ...optionsOf(options),
      published_by: publishedBy,
      conflict: new Set(live.map(([, schemas]) => schemas)).size > 1,
      live_workers,
      usual_seconds: usual(view.type) ?? view.estimated_runtime_seconds,
    }
  }
}

function isMatch({ type, description }: TaskTypeView, query: string): boolean {
  return type.toLowerCase().includes(query) || (description ?? '').toLowerCase().includes(query)
}

/** The types of a tenant that are MCP tools. The list is the same object until it changes. */
export async function toolTypes(
  { engine, taskTypes }: { readonly engine: Engine; readonly taskTypes: TaskTypes },
  tenantName: string,
): Promise<readonly TaskTypeView[]> {
  const { tenant } = await engine.tenant(tenantName)
  const { tools } = taskTypes.known(tenant) ?? (await taskTypes.load(tenant))
  return tools
}

export const registerTaskType = defineOperation({
  name: 'register_task_type',
  title: 'Register a task type',
  description:
    'For admins: defines a task type: a JSON Schema for the payload, defaults, limits, and whether the type is an MCP tool. Replaces an earlier registration of the same type.',
  input: registerTaskTypeInput,
  normalize: withoutNulls,
  output: taskTypeShape,
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/task-types' },
  auditSubject: 'type',
  effect: WRITES_ONCE,
  example: {
    type: 'summarise',
    description: 'Summarises a document.',
    payload_schema: {
      type: 'object',
      required: ['document'],
      properties: { document: { type: 'string' } },
    },
    default_timeout_seconds: 600,
    poll_suggestion_seconds: 30,
    tool: { title: 'Summarise a document' },
  },
  async run({ engine, schemas, taskTypes, webhookTenants }, caller, input) {
    const draft = await checkedTaskType(schemas, input)
    const { tenant, name } = await engine.tenant(caller.tenant)
    if (draft.webhook_url !== null) checkWebhooks(webhookTenants, { name })
    return taskTypes.register(tenant, draft)
  },
})

export const removeTaskType = defineOperation({
  name: 'remove_task_type',
  title: 'Remove a task type',
  description:
    'For admins: deletes the registration of a task type. Existing tasks of the type are not changed. removed is false if the type was not registered.',
  input: z.strictObject({ type: taskTypeName }),
  output: z.object({
    type: z.string().describe('Name of the task type'),
    removed: z.boolean().describe('False if the type was not registered'),
  }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/task-types/{type}/remove' },
  effect: ENDS,
  async run({ engine, taskTypes }, caller, { type }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return { type, removed: await taskTypes.remove(tenant, type) }
  },
})
