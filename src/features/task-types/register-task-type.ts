import { z } from 'zod'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { withoutNulls } from '../input.ts'
import { checkedTaskType, registerTaskTypeInput, taskTypeName, taskTypeShape } from './shape.ts'

export const registerTaskType = defineOperation({
  name: 'register_task_type',
  title: 'Register a task type',
  description:
    'For admins: defines a task type: a JSON Schema for the payload, defaults, limits, and whether the type is an MCP tool. Replaces an earlier registration of the same type.',
  input: registerTaskTypeInput,
  normalize: withoutNulls,
  output: taskTypeShape,
  actor: 'anyone',
  access: 'manage',
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
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'POST', path: '/v1/task-types/{type}/remove' },
  effect: ENDS,
  async run({ engine, taskTypes }, caller, { type }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return { type, removed: await taskTypes.remove(tenant, type) }
  },
})
