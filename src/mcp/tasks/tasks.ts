import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import { isParked } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import { MAX_WAIT_SECONDS } from '../../features/input.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { listCaller, taskCaller } from '../tools/identity.ts'
import { asFault, asProtocolError, type Call, lookError } from '../tools/tool.ts'
import { elicits } from '../transport/capabilities.ts'
import { type InputQuestion, questionOf, type Response, responseOf } from './questions.ts'
import { ended, withResolvedResult } from './results.ts'
import { type DetailedTask, isOver, type OldTask, rpcErrorOf, type TaskStates } from './states.ts'

export interface TasksOptions {
  readonly gate: Gate
  readonly states: TaskStates
  readonly onError: (error: unknown) => void
}

/**
 * The methods of the Tasks extension of 2026-07-28. Each asks anew who calls: a task belongs to its principal, and
 * never to a connection. What they throw is an error of JSON-RPC.
 */
export class Tasks {
  readonly #options: TasksOptions

  constructor(options: TasksOptions) {
    this.#options = options
  }

  async get(taskId: string, call: Call): Promise<DetailedTask> {
    const { gate, states } = this.#options
    states.polled()
    const { caller, task } = await this.look(taskId, call)
    return states.detailed(await withResolvedResult(gate, caller, task), elicits(call))
  }

  /** Answers what is open; keys that are not open any more, or never were, are passed over. */
  async update(taskId: string, responses: Fields, call: Call): Promise<void> {
    const { caller, task } = await this.look(taskId, call)
    const question = questionOf(task)
    if (question === undefined || !Object.hasOwn(responses, question.key)) return
    const response = responseOf(responses[question.key])
    if (response === undefined) return
    await this.#answer(caller, taskId, question, response).catch((error: unknown) => {
      const fault = asFault(error, this.#options.onError)
      if (!PASSED_OVER.has(fault.code)) throw asProtocolError(fault, call)
    })
  }

  /** A request, which a task that has ended has fulfilled already. */
  async cancel(taskId: string, call: Call): Promise<void> {
    const { caller } = await this.look(taskId, call)
    await this.stop(caller, taskId, call)
  }

  /** The task, if it is there and the caller may see it. A result that is read is fetched. */
  async look(taskId: string, call: Call): Promise<{ caller: Caller; task: TaskView }> {
    const { gate, onError } = this.#options
    try {
      const caller = taskCaller(call)
      return { caller, task: await gate.getTask(caller, { task_id: taskId }) }
    } catch (error) {
      throw lookError(error, call, onError)
    }
  }

  /** Resolves with whether it was open until now. */
  async stop(caller: Caller, taskId: string, call: Call): Promise<boolean> {
    const { gate, onError } = this.#options
    try {
      return (await gate.cancelTask(caller, { task_id: taskId })).ok
    } catch (error) {
      throw asProtocolError(asFault(error, onError), call)
    }
  }

  async #answer(
    caller: Caller,
    task_id: string,
    { n, form }: InputQuestion,
    response: Response,
  ): Promise<void> {
    const { gate } = this.#options
    switch (response.action) {
      case 'accept':
        await gate.answerQuestion(caller, { task_id, n, content: form.read(response.content) })
        return
      case 'decline':
        // Without its answer the work cannot go on.
        await gate.cancelTask(caller, { task_id, reason: 'The input that it asked for was declined.' })
        return
      case 'cancel':
        // Put aside, not refused: the question stays open.
        return
    }
  }
}

/** Somebody else came first. */
const PASSED_OVER: ReadonlySet<Fault['code']> = new Set(['ALREADY_DECIDED', 'QUESTION_NOT_FOUND'])

const PARKED_LOOK_MS = 1_000

export interface OldTasksOptions {
  readonly gate: Gate
  readonly states: TaskStates
  readonly tasks: Tasks
  readonly onError: (error: unknown) => void
}

export interface OldTaskPage {
  readonly tasks: OldTask[]
  readonly nextCursor?: string
}

/** The methods about tasks of 2025-11-25, where a request stands for itself. */
export class OldTasks {
  readonly #options: OldTasksOptions

  constructor(options: OldTasksOptions) {
    this.#options = options
  }

  async get(taskId: string, call: Call): Promise<OldTask> {
    const { states, tasks } = this.#options
    states.polled()
    return states.old((await tasks.look(taskId, call)).task)
  }

  /** The answer of the call itself, as soon as there is one, for as long as the client waits. */
  async result(taskId: string, call: Call): Promise<CallToolResult> {
    const { caller } = await this.#options.tasks.look(taskId, call)
    const task = await withResolvedResult(this.#options.gate, caller, await this.#end(caller, taskId, call))
    const error = rpcErrorOf(task)
    if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data)
    const answer = ended(task)
    return { ...answer, _meta: { ...answer._meta, [RELATED_TASK_META_KEY]: { taskId } } }
  }

  /** Newest first. */
  async list(cursor: string | undefined, call: Call): Promise<OldTaskPage> {
    const { gate, states, onError } = this.#options
    try {
      const page = await gate.listTasks(listCaller(call), cursor === undefined ? {} : { cursor })
      const tasks = page.tasks.map((task) => states.old(task))
      return page.next_cursor === null ? { tasks } : { tasks, nextCursor: page.next_cursor }
    } catch (error) {
      throw asProtocolError(asFault(error, onError), call)
    }
  }

  async cancel(taskId: string, call: Call): Promise<OldTask> {
    const { states, tasks } = this.#options
    const { caller, task } = await tasks.look(taskId, call)
    const isOpen = !isOver(task) && (await tasks.stop(caller, taskId, call))
    if (!isOpen) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The task has ended already.')
    return states.old((await tasks.look(taskId, call)).task)
  }

  async #end(caller: Caller, task_id: string, call: Call): Promise<TaskView> {
    const { gate, onError } = this.#options
    const wait = { task_id, wait_seconds: MAX_WAIT_SECONDS }
    for (;;) {
      const task = await gate.waitForTask(caller, wait, call.signal).catch((error: unknown) => {
        throw lookError(error, call, onError)
      })
      if (isOver(task)) return task
      // One that waits for a person is shown at once, and may be looked at for days.
      if (isParked(task.status))
        await sleep(PARKED_LOOK_MS, undefined, { signal: call.signal }).catch(() => {})
      if (call.signal.aborted) throw new ProtocolError(ProtocolErrorCode.InternalError, 'Stopped; ask again.')
    }
  }
}
