import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { nextCursor, pageLimit, text, withoutNulls } from '../input.ts'
import {
  checkedTaskType,
  registerTaskTypeInput,
  type TaskTypeView,
  taskTypeName,
  taskTypeShape,
} from './shape.ts'
import type { TaskTypes } from './task-types.ts'

export const getTaskType = defineOperation({
  name: 'get_task_type',
  title: 'Get a task type',
  description: 'The registration of a task type: the schema of its payload, its defaults and its limits.',
  input: z.strictObject({ type: taskTypeName }),
  output: taskTypeShape,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/task-types/{type}' },
  async run({ engine, taskTypes }, caller, { type }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const found = await taskTypes.get(tenant, type)
    if (found === undefined) throw new Fault('TASK_TYPE_UNKNOWN', { type })
    return found
  },
})

export const listTaskTypes = defineOperation({
  name: 'list_task_types',
  title: 'List task types',
  description:
    'The registered task types, sorted by name, with the payload that each expects: the types that you can pass to create_task. Repeat with next_cursor until it is null.',
  input: z.strictObject({
    limit: pageLimit,
    cursor: text(255).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    task_types: z.array(taskTypeShape).readonly().describe('The task types of this page'),
    next_cursor: nextCursor,
  }),
  access: 'read',
  toolsets: ['agent', 'operator'],
  rest: { method: 'GET', path: '/v1/task-types' },
  async run({ engine, taskTypes }, caller, { limit, cursor }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const found = await taskTypes.list(tenant, cursor ?? '', limit + 1)
    const task_types = found.slice(0, limit)
    return { task_types, next_cursor: found.length > limit ? (task_types.at(-1)?.type ?? null) : null }
  },
})

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
  async run({ engine, schemas, taskTypes }, caller, input) {
    const draft = await checkedTaskType(schemas, input)
    const { tenant } = await engine.tenant(caller.tenant)
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
