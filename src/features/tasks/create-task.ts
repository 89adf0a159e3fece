import { z } from 'zod'
import { defineOperation, WRITES } from '../define-operation.ts'
import { parse } from '../input.ts'
import { itemError, MAX_ITEMS, outcomesOf } from '../many.ts'
import { createTask as create, createdShape } from './create.ts'
import { createdSummary } from './summary.ts'
import { createInput } from './task-input.ts'

export const createTask = defineOperation({
  name: 'create_task',
  title: 'Create a task',
  description:
    'Creates a task for a worker to do and returns its task_id immediately; the task is durable from then on. ' +
    'Send an idempotency_key so that repeating the request never does the work twice. ' +
    'Then use wait_for_task to get the result, or come back later with get_task.',
  input: createInput,
  output: createdShape,
  actor: 'agent',
  access: 'create',
  toolsets: ['agent'],
  modelFields: [
    'type',
    'payload',
    'summary',
    'body',
    'idempotency_key',
    'priority',
    'delay_seconds',
    'timeout_seconds',
    'deadline_at',
    'max_attempts',
    'requirements',
    'session_id',
    'labels',
  ],
  summary: createdSummary,
  rest: { method: 'POST', path: '/v1/tasks' },
  effect: WRITES,
  repeat: 'idempotent with an `idempotency_key`',
  example: {
    type: 'summarise',
    principal_id: 'planner',
    payload: { document: 'report.pdf' },
    requirements: { capabilities: ['pdf'] },
    idempotency_key: 'report-1',
    labels: { team: 'search' },
  },
  async run(services, caller, input) {
    return create(services, await services.engine.tenant(caller.tenant), caller, input)
  },
})

export const createTasks = defineOperation({
  name: 'create_tasks',
  title: 'Create many tasks',
  description:
    'Creates up to 1,000 tasks in one call. Each has its own outcome, in the order of the list: the response of create_task, or an error. ' +
    'A task that is refused does not stop the others.',
  input: z.strictObject({
    tasks: z
      .array(z.unknown().meta({ type: 'object', description: 'The input of create_task' }))
      .min(1)
      .max(MAX_ITEMS)
      .describe('The tasks, each with the fields of create_task'),
  }),
  output: z.object({
    results: z
      .array(z.union([createdShape, itemError]))
      .readonly()
      .describe('One outcome per task, in the order of the request'),
  }),
  actor: 'agent',
  access: 'create',
  isBulk: true,
  rest: { method: 'POST', path: '/v1/tasks/batch' },
  effect: WRITES,
  repeat: 'idempotent if every task has an `idempotency_key`',
  example: {
    principal_id: 'planner',
    tasks: [
      { type: 'summarise', payload: { page: 1 }, idempotency_key: 'page-1' },
      { type: 'summarise', payload: { page: 2 }, idempotency_key: 'page-2' },
    ],
  },
  async run(services, caller, { tasks }) {
    const tenant = await services.engine.tenant(caller.tenant)
    const options = { request: tasks }
    const run = async (task: unknown) => create(services, tenant, caller, parse(createInput, task), options)
    return { results: await outcomesOf(tasks, run, services.engine) }
  },
})
