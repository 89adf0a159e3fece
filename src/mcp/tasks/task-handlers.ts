import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Gate } from '../../features/gate.ts'
import type { Call, CallOf, Era } from '../tools/tool.ts'
import { tasksRequired } from '../transport/capabilities.ts'
import { Decisions } from './decisions.ts'
import { PeerQuestions } from './peer-questions.ts'
import { TaskStates } from './states.ts'
import { TaskCalls } from './task-calls.ts'
import { LegacyTasks, Tasks } from './tasks.ts'
import { TaskWatch } from './watch.ts'

export type TaskHandlers = ReturnType<typeof taskHandlers>

/** Everything that MCP needs for tasks. `waitTool` is the tool with which a model waits for a result. */
export function taskHandlers(deps: {
  readonly gate: Gate
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}) {
  const { gate, waitTool, onError } = deps
  const states = new TaskStates(gate.links)
  const modern = new Tasks({ gate, states, onError })
  const watch = new TaskWatch(gate)
  const decisions = new Decisions(gate, watch)
  const questions = new PeerQuestions({
    gate,
    decisions,
    update: (taskId, responses, call) => modern.update(taskId, responses, call),
    onError,
  })
  return {
    gate,
    states,
    calls: new TaskCalls({ gate, states, watch, decisions, questions, waitTool, onError }),
    /** Questions to legacy clients. */
    questions,
    /** The methods of 2026-07-28. */
    modern,
    /** The methods of 2025-11-25. */
    legacy: new LegacyTasks(modern, { gate, states, questions, onError }),
    watch,
    onError,
  }
}

const ONE = { params: z.looseObject({ taskId: z.string() }), result: z.looseObject({}) }
const PAGE = { params: z.looseObject({ cursor: z.string().optional() }), result: z.looseObject({}) }

/** Registers the methods about tasks with a server of the SDK. */
export function serveTasks(server: Server, { modern, legacy }: TaskHandlers, era: Era, callOf: CallOf): void {
  const serve = (
    method: string,
    run: (taskId: string, call: Call, context: ServerContext) => Promise<object | undefined>,
  ) =>
    server.setRequestHandler(method, ONE, async ({ taskId }, context) => {
      const call = callOf(context)
      if (era === 'modern' && call.tasks !== 'handle') throw tasksRequired()
      return { ...(await run(taskId, call, context)) }
    })
  if (era === 'modern') {
    serve('tasks/get', (id, call) => modern.get(id, call))
    serve('tasks/update', (id, call, { mcpReq }) => modern.update(id, mcpReq.inputResponses ?? {}, call))
    serve('tasks/cancel', (id, call) => modern.cancel(id, call))
    return
  }
  serve('tasks/get', (id, call) => legacy.get(id, call))
  serve('tasks/result', (id, call) => legacy.result(id, call))
  serve('tasks/cancel', (id, call) => legacy.cancel(id, call))
  server.setRequestHandler('tasks/list', PAGE, async ({ cursor }, context) => ({
    ...(await legacy.list(cursor, callOf(context))),
  }))
}
