import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import { isParked, isTerminal } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import { MAX_WAIT_SECONDS } from '../../features/input.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { listCaller, taskCaller } from '../tools/identity.ts'
import { asFault, asProtocolError, type Call, lookError } from '../tools/tool.ts'
import { clientQuestion, isDecided, respond, viewerOf } from './client-questions.ts'
import type { PeerQuestions } from './peer-questions.ts'
import { responseOf } from './questions.ts'
import { ended, withResolvedResult } from './results.ts'
import { type DetailedTask, type LegacyTask, rpcErrorOf, type TaskStates } from './states.ts'

interface TasksDeps {
  readonly gate: Gate
  readonly states: TaskStates
  readonly onError: (error: unknown) => void
}

/**
 * The methods of the Tasks extension of 2026-07-28. Each one identifies the caller again, because a task belongs to its
 * principal and not to a connection. All of them reject with JSON-RPC errors.
 */
export class Tasks {
  readonly #deps: TasksDeps

  constructor(deps: TasksDeps) {
    this.#deps = deps
  }

  async get(taskId: string, call: Call): Promise<DetailedTask> {
    const { gate, states } = this.#deps
    states.polled()
    const { caller, task } = await this.look(taskId, call)
    const viewer = task.question === null ? undefined : viewerOf(call, caller)
    return states.detailed(await withResolvedResult(gate, caller, task), viewer, call)
  }

  /** Answers the open question. Responses to other questions are ignored. */
  async update(taskId: string, responses: Fields, call: Call): Promise<undefined> {
    const { gate } = this.#deps
    const { caller, task } = await this.look(taskId, call)
    const viewer = viewerOf(call, caller)
    // The input of a client that cannot show forms is accepted, too.
    const form = viewer.form || task.question?.kind === 'input'
    const question = clientQuestion(task, { ...viewer, form }, gate.links)
    if (question === undefined || !Object.hasOwn(responses, question.key)) return
    const response = responseOf(responses[question.key])
    if (response === undefined) return
    await respond(gate, caller, call, taskId, question, response).catch((error: unknown) => {
      const fault = asFault(error, this.#deps.onError)
      if (!isDecided(fault)) throw asProtocolError(fault, call)
    })
  }

  /** Succeeds for a task that has ended, too. */
  async cancel(taskId: string, call: Call): Promise<undefined> {
    const { caller } = await this.look(taskId, call)
    await this.stop(caller, taskId, call)
  }

  /** The task, if it exists and the caller may see it. Its result then counts as fetched. */
  async look(taskId: string, call: Call): Promise<{ caller: Caller; task: TaskView }> {
    const { gate, onError } = this.#deps
    try {
      const caller = taskCaller(call)
      return { caller, task: await gate.getTask(caller, { task_id: taskId }) }
    } catch (error) {
      throw lookError(error, call, onError)
    }
  }

  /** Resolves with whether the task was open. */
  async stop(caller: Caller, taskId: string, call: Call): Promise<boolean> {
    const { gate, onError } = this.#deps
    try {
      return (await gate.cancelTask(caller, { task_id: taskId })).ok
    } catch (error) {
      throw asProtocolError(asFault(error, onError), call)
    }
  }
}

/** How often a task that waits for a person is read again. */
const PARKED_LOOK_MS = 1_000

interface LegacyTasksDeps extends TasksDeps {
  readonly questions: PeerQuestions
}

/** The methods about tasks of 2025-11-25. */
export class LegacyTasks {
  readonly #tasks: Tasks
  readonly #deps: LegacyTasksDeps

  constructor(tasks: Tasks, deps: LegacyTasksDeps) {
    this.#tasks = tasks
    this.#deps = deps
  }

  async get(taskId: string, call: Call): Promise<LegacyTask> {
    const { states } = this.#deps
    states.polled()
    const { caller, task } = await this.#tasks.look(taskId, call)
    return states.legacy(task, call.peer && viewerOf(call, caller))
  }

  /** Waits for the end of the task and resolves with the result of the tool call. */
  async result(taskId: string, call: Call): Promise<CallToolResult> {
    const { caller } = await this.#tasks.look(taskId, call)
    const task = await withResolvedResult(this.#deps.gate, caller, await this.#end(caller, taskId, call))
    const error = rpcErrorOf(task)
    if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data)
    const answer = ended(task, call)
    return { ...answer, _meta: { ...answer._meta, [RELATED_TASK_META_KEY]: { taskId } } }
  }

  /** Newest first. */
  async list(cursor: string | undefined, call: Call): Promise<{ tasks: LegacyTask[]; nextCursor?: string }> {
    const { gate, states, onError } = this.#deps
    try {
      const page = await gate.listTasks(listCaller(call), cursor === undefined ? {} : { cursor })
      const tasks = page.tasks.map((task) => states.legacy(task))
      return page.next_cursor === null ? { tasks } : { tasks, nextCursor: page.next_cursor }
    } catch (error) {
      throw asProtocolError(asFault(error, onError), call)
    }
  }

  async cancel(taskId: string, call: Call): Promise<LegacyTask> {
    const { caller, task } = await this.#tasks.look(taskId, call)
    const isOpen = !isTerminal(task.status) && (await this.#tasks.stop(caller, taskId, call))
    if (!isOpen) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The task has ended already.')
    return this.#deps.states.legacy((await this.#tasks.look(taskId, call)).task)
  }

  /** Resolves with the task when it has ended. The user of the client is asked each question on the way. */
  async #end(caller: Caller, task_id: string, call: Call): Promise<TaskView> {
    const { gate, questions, onError } = this.#deps
    const wait = { task_id, wait_seconds: MAX_WAIT_SECONDS }
    let asked: number | undefined
    for (;;) {
      const task = await gate.waitForTask(caller, wait, call.signal).catch((error: unknown) => {
        throw lookError(error, call, onError)
      })
      if (isTerminal(task.status)) return task
      if (task.question !== null && task.question.n !== asked) {
        asked = task.question.n
        const related = { [RELATED_TASK_META_KEY]: { taskId: task_id } }
        const decided = await questions.ask(caller, task, call, related).catch((error: unknown) => {
          throw lookError(error, call, onError)
        })
        if (decided !== undefined) continue
      }
      // The wait for a task that waits for a person ends immediately.
      if (isParked(task.status))
        await sleep(PARKED_LOOK_MS, undefined, { signal: call.signal }).catch(() => {})
      if (call.signal.aborted)
        throw new ProtocolError(ProtocolErrorCode.InternalError, 'The server is stopping; retry the request.')
    }
  }
}
