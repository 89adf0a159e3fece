import { z } from 'zod'
import { ENDS, operation, READS, WRITES_ONCE } from '../define-operation.ts'
import { getTaskType, getTaskTypeInput, listTaskTypes, listTaskTypesInput } from './reads.ts'
import { registerTaskType } from './register-task-type.ts'
import { removeTaskType, removeTaskTypeInput } from './remove-task-type.ts'
import { registerTaskTypeInput, taskTypeShape } from './shape.ts'

export const taskTypeOperations = [
  operation({
    name: 'register_task_type',
    title: 'Register a task type',
    description:
      'For admins: says what tasks of a type look like and how they are handled: a JSON Schema for the payload, defaults, limits, and whether it is an MCP tool of its own. Replaces what was registered before under the same type.',
    input: registerTaskTypeInput,
    output: taskTypeShape,
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/task-types' },
    effect: WRITES_ONCE,
    call: registerTaskType,
  }),
  operation({
    name: 'get_task_type',
    title: 'Look at a task type',
    description: 'What is registered about a type: the schema of its payload, its defaults and limits.',
    input: getTaskTypeInput,
    output: taskTypeShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/task-types/{type}' },
    effect: READS,
    call: getTaskType,
  }),
  operation({
    name: 'list_task_types',
    title: 'List task types',
    description:
      'The registered types by name, with the payload that each expects: what you can ask for with create_task. Go on with next_cursor until it is null.',
    input: listTaskTypesInput,
    output: z.object({ task_types: z.array(taskTypeShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/task-types' },
    effect: READS,
    call: listTaskTypes,
  }),
  operation({
    name: 'remove_task_type',
    title: 'Remove a task type',
    description:
      'For admins: forgets what was registered about a type. Its tasks stay as they are. removed is false if nothing was registered.',
    input: removeTaskTypeInput,
    output: z.object({ type: z.string(), removed: z.boolean() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/task-types/{type}/remove' },
    effect: ENDS,
    call: removeTaskType,
  }),
] as const
