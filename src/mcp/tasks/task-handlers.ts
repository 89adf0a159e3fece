import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Gate } from '../../features/gate.ts'
import type { Call, CallOf, Era } from '../tools/tool.ts'
import { tasksRequired } from '../transport/capabilities.ts'
import { TaskStates } from './states.ts'
import { TaskCalls } from './task-calls.ts'
import { OldTasks, Tasks } from './tasks.ts'
import { TaskWatch } from './watch.ts'

export interface TaskFaceOptions {
  readonly gate: Gate
  /** The tool with which a model goes on when the result does not come in time. */
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}

/** All that MCP has about tasks, over one gate. */
export interface TaskHandlers {
  readonly gate: Gate
  readonly states: TaskStates
  readonly calls: TaskCalls
  /** Of 2026-07-28. */
  readonly modern: Tasks
  /** Of 2025-11-25. */
  readonly old: OldTasks
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

export function taskHandlers({ gate, waitTool, onError }: TaskFaceOptions): TaskHandlers {
  const states = new TaskStates(gate.links)
  const modern = new Tasks({ gate, states, onError })
  const watch = new TaskWatch(gate)
  return {
    gate,
    states,
    calls: new TaskCalls({ gate, states, watch, waitTool, onError }),
    modern,
    old: new OldTasks({ gate, states, tasks: modern, onError }),
    watch,
    onError,
  }
}

const One = z.looseObject({ taskId: z.string() })
const Page = z.looseObject({ cursor: z.string().optional() })
/** The shapes of answers are the types of those who give them. */
const Answer = z.looseObject({})
const ONE = { params: One, result: Answer }

/** Has a server of the SDK serve the methods about tasks. */
export function serveTasks(server: Server, tasks: TaskHandlers, era: Era, callOf: CallOf): void {
  if (era === 'modern') serveModern(server, tasks, callOf)
  else serveLegacy(server, tasks, callOf)
}

function serveModern(server: Server, { modern }: TaskHandlers, callOf: CallOf): void {
  const declaring = (context: ServerContext): Call => {
    const call = callOf(context)
    if (call.tasks !== 'handle') throw tasksRequired()
    return call
  }
  server.setRequestHandler('tasks/get', ONE, async ({ taskId }, context) => ({
    ...(await modern.get(taskId, declaring(context))),
  }))
  server.setRequestHandler('tasks/update', ONE, async ({ taskId }, context) => {
    await modern.update(taskId, context.mcpReq.inputResponses ?? {}, declaring(context))
    return {}
  })
  server.setRequestHandler('tasks/cancel', ONE, async ({ taskId }, context) => {
    await modern.cancel(taskId, declaring(context))
    return {}
  })
}

function serveLegacy(server: Server, { old }: TaskHandlers, callOf: CallOf): void {
  server.setRequestHandler('tasks/get', ONE, async ({ taskId }, context) => ({
    ...(await old.get(taskId, callOf(context))),
  }))
  server.setRequestHandler('tasks/result', ONE, async ({ taskId }, context) => ({
    ...(await old.result(taskId, callOf(context))),
  }))
  server.setRequestHandler('tasks/list', { params: Page, result: Answer }, async ({ cursor }, context) => ({
    ...(await old.list(cursor, callOf(context))),
  }))
  server.setRequestHandler('tasks/cancel', ONE, async ({ taskId }, context) => ({
    ...(await old.cancel(taskId, callOf(context))),
  }))
}
