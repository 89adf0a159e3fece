import type { InputRequiredResult } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { CallState } from '../../features/tasks/call-state.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { asFault, asProtocolError, type Call, type Repeat, type TaskTool } from '../tools/tool.ts'
import { isModern } from '../transport/capabilities.ts'
import { clientQuestion, leavesOpen, refusalOf, respond, viewerOf } from './client-questions.ts'
import { responseOf } from './questions.ts'

/** Clients give up after ten rounds. The call ends before that, with a result that says how to continue. */
const MAX_ROUNDS = 8

/** A repeated call. */
export interface RepeatedCall {
  readonly caller: Caller
  readonly state: CallState
  readonly task: TaskView
  /** The question that the client knows and that a person decides elsewhere. */
  readonly known: number | undefined
  /** Whether the user does not want to answer now. */
  readonly isDismissed: boolean
  /** Why the answer was refused; undefined if it was not. */
  readonly problem: string | undefined
}

interface RoundsDeps {
  readonly gate: Gate
  readonly onError: (error: unknown) => void
}

/**
 * Calls of 2026-07-28 that require input of the user. The result has a question for the user and a signed state, and the
 * client repeats its call with the response and the state. The task and its question are stored, so nothing is lost if
 * the client never repeats the call, and another server can continue it.
 */
export class Rounds {
  readonly #deps: RoundsDeps

  constructor(deps: RoundsDeps) {
    this.#deps = deps
  }

  /** Requires the input that a task waits for. Undefined if the client cannot show the question. */
  async ask(
    tool: TaskTool,
    caller: Caller,
    task: TaskView,
    call: Call,
    before?: RepeatedCall,
  ): Promise<InputRequiredResult | undefined> {
    const { gate } = this.#deps
    const round = (before?.state.round ?? 0) + 1
    if (!isModern(call) || round > MAX_ROUNDS || before?.isDismissed) return undefined
    const problem = before?.state.n === task.question?.n ? before?.problem : undefined
    const question = clientQuestion(task, viewerOf(call, caller), gate.links, problem)
    if (question === undefined) return undefined
    const { n, key, request } = question
    // A page that the user has opened stays open, so the client only repeats its call.
    const isSeen = before?.known === n && (before.state.isSeen || key in (call.repeat?.responses ?? {}))
    const state = { task_id: task.task_id, n, round, isSeen }
    return {
      resultType: 'input_required',
      ...(!isSeen && { inputRequests: { [key]: request } }),
      requestState: await gate.sealCall(caller, tool.definition.name, state),
    }
  }

  /** Finds the task of a repeated call and applies the response. Rejects with JSON-RPC errors. */
  async resume(tool: TaskTool, args: Fields, call: Call, repeat: Repeat): Promise<RepeatedCall> {
    const { gate, onError } = this.#deps
    try {
      if (repeat.state === undefined) throw invalid('requestState', 'is missing')
      const caller = tool.callerOf(args, call)
      const state = await gate.openCall(caller, tool.definition.name, repeat.state)
      const task = await gate.peekTask(caller, { task_id: state.task_id })
      return await this.#applied({ caller, state, task }, repeat, call)
    } catch (error) {
      throw asProtocolError(asFault(error, onError), call)
    }
  }

  async #applied(
    found: Pick<RepeatedCall, 'caller' | 'state' | 'task'>,
    { responses }: Repeat,
    call: Call,
  ): Promise<RepeatedCall> {
    const { gate, onError } = this.#deps
    const { caller, state, task } = found
    const question = clientQuestion(task, viewerOf(call, caller), gate.links)
    const none = { ...found, known: undefined, isDismissed: false, problem: undefined }
    // The question has been decided, or it is not the one that the client was asked.
    if (question?.n !== state.n) return none
    const response = Object.hasOwn(responses, question.key) ? responseOf(responses[question.key]) : undefined
    if (question.answer.by === 'page') {
      const isDismissed = response !== undefined && response.action !== 'accept'
      return isDismissed ? { ...none, isDismissed } : { ...none, known: state.n }
    }
    if (response === undefined) return none
    if (leavesOpen(question, response)) return { ...none, isDismissed: true }
    const responding = respond(gate, caller, call, task.task_id, question, response)
    return { ...none, problem: await refusalOf(responding, onError) }
  }
}
