import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isParked, type Status } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import { MAX_WAIT_SECONDS } from '../../features/input.ts'
import type { Links } from '../../features/links.ts'
import type { WaitAnswer } from '../../features/tasks/wait-for-task.ts'
import {
  answered,
  asFault,
  type Call,
  type CreatedFacts,
  type CreatedTask,
  META_PREFIX,
  type Repeat,
  refused,
  type TaskTool,
  type ToolReply,
} from '../tools/tool.ts'
import type { Decisions } from './decisions.ts'
import { TaskHold } from './hold.ts'
import type { PeerQuestions } from './peer-questions.ts'
import { ended } from './results.ts'
import { Rounds } from './rounds.ts'
import { asLegacy, type TaskHandle, type TaskStates } from './states.ts'
import { approvalWords, inputWords } from './status-messages.ts'
import type { TaskWatch } from './watch.ts'

export interface TaskCallOptions {
  readonly gate: Gate
  readonly states: TaskStates
  readonly watch: TaskWatch
  readonly decisions: Decisions
  readonly questions: PeerQuestions
  /** The tool with which a model waits for a result. */
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}

/** In `_meta`: the call of create_task returns an MCP task. */
export const AS_TASK = `${META_PREFIX}task`

/** Handles calls of task tools in the way that the client supports. */
export class TaskCalls {
  readonly #options: TaskCallOptions
  readonly #hold: TaskHold
  readonly #rounds: Rounds

  constructor(options: TaskCallOptions) {
    this.#options = options
    this.#rounds = new Rounds(options)
    this.#hold = new TaskHold(options)
  }

  /** Resolves when the tasks of canceled calls are canceled. */
  settled(): Promise<void> {
    return this.#hold.settled()
  }

  /** Rejects only with JSON-RPC errors. */
  async call(tool: TaskTool, args: Fields, call: Call): Promise<ToolReply> {
    const { repeat } = call
    if (repeat === undefined && tool.plain !== undefined && !asksForTask(call)) return tool.plain(args, call)
    try {
      if (call.flaw) throw call.flaw
      if (repeat !== undefined) return await this.#repeat(tool, args, call, repeat)
      const task = await tool.create(args, call)
      // The task is durable now, so any server finds it.
      switch (call.tasks) {
        case 'handle':
          return await this.#answerHandle(tool, task, call)
        case 'task':
          return { content: [], task: asLegacy(await this.#handle(task)) }
        default:
          return await this.#answerResult(tool, task, call)
      }
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      return refused(asFault(error, this.#options.onError), call)
    }
  }

  async #answerHandle(tool: TaskTool, task: CreatedTask, call: Call): Promise<CallToolResult> {
    const { quickSeconds = 0 } = tool
    const quick = quickSeconds > 0 ? await this.#wait(tool, task, quickSeconds, call) : undefined
    return quick?.done
      ? ended(quick, call)
      : { content: [], resultType: 'task', ...(await this.#handle(task)) }
  }

  /** The result if it is ready in time; otherwise the required input, or the status and how to continue. */
  async #answerResult(tool: TaskTool, task: CreatedTask, call: Call): Promise<ToolReply> {
    const seen = await this.#waitAsking(tool, task, call)
    if (seen?.done) return ended(seen, call)
    const required = seen && (await this.#unlessBroken(this.#rounds.ask(tool, task.caller, seen, call)))
    if (required !== undefined) return required
    const goesOn = isParked(seen?.status ?? task.created.status) || !tool.cancelsAtTimeout
    if (!goesOn && (await this.#canceled(task))) return canceledResult(task.created, call)
    return underWay(task.created, seen, this.#options, call)
  }

  /** Waits for the result. Each question on the way is put to the user of a legacy client, if the client can ask. */
  async #waitAsking(tool: TaskTool, task: CreatedTask, call: Call): Promise<WaitAnswer | undefined> {
    const { caller, created } = task
    let seen = await this.#wait(tool, task, tool.waitSeconds, call)
    while (seen !== undefined && isParked(seen.status) && call.peer !== undefined) {
      const decided = await this.#unlessBroken(this.#options.questions.ask(caller, seen, call))
      if (decided === undefined) break
      const next = { caller, created: { ...created, status: decided.status } }
      seen = await this.#wait(tool, next, tool.waitSeconds, call)
    }
    return seen
  }

  /** Continues the task of the call that is repeated. No other task is created, whatever the arguments are. */
  async #repeat(tool: TaskTool, args: Fields, call: Call, repeat: Repeat): Promise<ToolReply> {
    const resumed = await this.#rounds.resume(tool, args, call, repeat)
    const { caller, known, isDismissed } = resumed
    const { task_id } = resumed.task
    const created = (status: Status) => ({ task_id, status, is_duplicate: true })
    if (call.tasks === 'handle') {
      const handle = await this.#handle({ caller, created: created(resumed.task.status) })
      return { content: [], resultType: 'task', ...handle }
    }
    const over = performance.now() + (isDismissed ? 0 : MAX_WAIT_SECONDS * 1000)
    const left = () => Math.max(0, Math.ceil(over - performance.now()))
    const timeout = () => AbortSignal.any([call.signal, AbortSignal.timeout(left())])
    const decided =
      known === undefined
        ? undefined
        : await this.#unlessBroken(this.#options.decisions.wait(caller, task_id, known, timeout()))
    const task = { caller, created: created((decided ?? resumed.task).status) }
    const seen = await this.#wait(tool, task, left() / 1000, call)
    if (seen?.done) return ended(seen, call)
    const required = seen && (await this.#unlessBroken(this.#rounds.ask(tool, caller, seen, call, resumed)))
    return required ?? underWay(task.created, seen, this.#options, call)
  }

  async #handle({ caller, created }: CreatedTask): Promise<TaskHandle> {
    const { gate, states } = this.#options
    if (!created.is_duplicate) return states.fresh(created)
    const view = await this.#unlessBroken(gate.getTask(caller, { task_id: created.task_id }))
    return view === undefined ? states.fresh(created) : states.handle(view)
  }

  #wait(tool: TaskTool, task: CreatedTask, seconds: number, call: Call): Promise<WaitAnswer | undefined> {
    return this.#unlessBroken(this.#hold.hold(tool, task, seconds, call))
  }

  async #canceled({ caller, created }: CreatedTask): Promise<boolean> {
    const reason = 'No client waited for the result any more.'
    const canceled = this.#options.gate.cancelTask(caller, { task_id: created.task_id, reason })
    return (await this.#unlessBroken(canceled))?.ok ?? false
  }

  /** The task exists, and an error would make the caller create it again. */
  #unlessBroken<T>(looked: Promise<T>): Promise<T | undefined> {
    return looked.catch((error: unknown) => {
      asFault(error, this.#options.onError)
      return undefined
    })
  }
}

function asksForTask({ tasks, meta }: Call): boolean {
  return tasks === 'task' || (tasks === 'handle' && meta?.[AS_TASK] === true)
}

function canceledResult({ task_id }: CreatedFacts, call: Call): CallToolResult {
  const hint =
    'It took longer than this call may wait, and was canceled. Ask again if the result is still wanted.'
  return { ...answered({ task_id, status: 'canceled', hint }, call), isError: true }
}

function underWay(
  created: CreatedFacts,
  task: WaitAnswer | undefined,
  { waitTool, gate }: TaskCallOptions,
  call: Call,
): CallToolResult {
  const { task_id, estimated_runtime_seconds, poll_suggestion_seconds } = created
  const status = task?.status ?? created.status
  return answered(
    {
      task_id,
      status,
      done: false,
      ...(task?.progress !== undefined && { progress: task.progress }),
      ...(task?.question && { question: task.question }),
      ...(estimated_runtime_seconds !== undefined && { estimated_runtime_seconds }),
      ...(poll_suggestion_seconds !== undefined && { poll_suggestion_seconds }),
      ...gate.links.console(task_id, status),
      hint: `${hintOf(task ?? { task_id, status }, gate.links)} Call ${waitTool} with this task_id for the result, and do not ask for the same again.`,
    },
    call,
  )
}

function hintOf(task: Pick<WaitAnswer, 'task_id' | 'status'> & Partial<WaitAnswer>, links: Links): string {
  switch (task.status) {
    case 'pending_approval':
      return approvalWords(task, links)
    case 'input_required':
      return inputWords(task)
    default:
      return task.hint ?? 'The work goes on.'
  }
}
