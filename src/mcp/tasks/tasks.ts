import type { Fields } from '../../auth/caller.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { taskCaller } from '../tools/identity.ts'
import { asFault, type Call } from '../tools/tool.ts'
import { elicits } from '../transport/capabilities.ts'
import { asProtocolError, lookError } from './errors.ts'
import { type InputQuestion, questionOf, type Response, responseOf } from './questions.ts'
import { withResolvedResult } from './resolved-task.ts'
import type { DetailedTask, TaskStates } from './states.ts'

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
