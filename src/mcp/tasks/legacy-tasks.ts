import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server'
import type { Caller } from '../../core/principal.ts'
import { isParked } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import { MAX_WAIT_SECONDS } from '../../features/input.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { listCaller } from '../tools/identity.ts'
import { asFault, type Call } from '../tools/tool.ts'
import { asProtocolError, lookError } from './errors.ts'
import { withResolvedResult } from './resolved-task.ts'
import { ended } from './results.ts'
import { isOver, type OldTask, rpcErrorOf, type TaskStates } from './states.ts'
import type { Tasks } from './tasks.ts'

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
