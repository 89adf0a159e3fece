import type { CallToolResult } from '@modelcontextprotocol/server'
import { taskTime } from '../../core/ids.ts'
import { isoTime } from '../../core/time.ts'
import type { Links } from '../../features/links.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'
import type { Call } from '../tools/tool.ts'
import { clientQuestion, type Viewer } from './client-questions.ts'
import { PollMeter, pollInterval } from './poll-interval.ts'
import { ended } from './results.ts'
import { type Fresh, freshWords, inputWords, statusMessage } from './status-messages.ts'

/** The statuses of tasks in MCP, in both revisions. */
type McpStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A task of 2026-07-28. */
export interface TaskHandle {
  readonly taskId: string
  readonly status: McpStatus
  readonly statusMessage: string | undefined
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** Tasks are stored without a limit of time. */
  readonly ttlMs: null
  readonly pollIntervalMs: number
}

/** A task with the members that its status requires. */
export interface DetailedTask extends TaskHandle {
  readonly inputRequests: Readonly<Record<string, object>> | undefined
  readonly result: (CallToolResult & { readonly resultType: 'complete' }) | undefined
  readonly error: RpcError | undefined
}

/** A task of 2025-11-25. */
export interface LegacyTask extends Omit<TaskHandle, 'ttlMs' | 'pollIntervalMs'> {
  readonly ttl: null
  readonly pollInterval: number
}

interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Converts tasks to their representation in MCP. */
export class TaskStates {
  readonly #meter = new PollMeter()
  readonly #links: Links
  readonly #now: () => number

  constructor(links: Links, now: () => number = Date.now) {
    this.#links = links
    this.#now = now
  }

  /** Counts a poll. */
  polled(): void {
    this.#meter.note(this.#now())
  }

  handle(task: TaskView): TaskHandle {
    return this.#handle(task, mcpStatus(task), statusMessage(task, this.#links))
  }

  /**
   * The result of tasks/get. A client that cannot show the question is not asked: its agent finds it in the status
   * message, and answers with a tool or tells a person.
   */
  detailed(task: TaskView, viewer: Viewer | undefined, call: Pick<Call, 'listing'>): DetailedTask {
    const status = mcpStatus(task)
    const question = viewer && clientQuestion(task, viewer, this.#links)
    const isUnasked = status === 'input_required' && question === undefined
    const message = isUnasked ? inputWords(task) : statusMessage(task, this.#links)
    const shown = question === undefined ? (isUnasked ? 'working' : status) : 'input_required'
    return {
      ...this.#handle(task, shown, message),
      inputRequests: question && { [question.key]: question.request },
      result: status === 'completed' ? { resultType: 'complete', ...ended(task, call) } : undefined,
      error: status === 'failed' ? rpcErrorOf(task) : undefined,
    }
  }

  /** A task that was created a moment ago. */
  fresh(created: Fresh): TaskHandle {
    const { task_id, status } = created
    const created_at = isoTime(taskTime(task_id))
    const task = { task_id, status, created_at, updated_at: created_at }
    // A handle has no question, so a client that can show it finds it with its first poll.
    return this.#handle(task, 'working', freshWords(created, this.#links), false)
  }

  /** A client of 2025-11-25 is asked while it waits for the result, if it is connected. */
  legacy(task: TaskView, viewer?: Viewer): LegacyTask {
    return asLegacy(this.detailed(task, viewer, {}))
  }

  #handle(
    task: Pick<TaskView, 'task_id' | 'status' | 'created_at' | 'updated_at'>,
    status: McpStatus,
    statusMessage: string | undefined,
    isPending = task.status === 'pending_approval',
  ): TaskHandle {
    const now = this.#now()
    const age = now - Date.parse(task.created_at)
    return {
      taskId: task.task_id,
      status,
      statusMessage,
      createdAt: task.created_at,
      lastUpdatedAt: task.updated_at,
      ttlMs: null,
      pollIntervalMs: pollInterval(age, isPending, this.#meter.perSecond(now)),
    }
  }
}

export function asLegacy(handle: TaskHandle): LegacyTask {
  return {
    taskId: handle.taskId,
    status: handle.status,
    statusMessage: handle.statusMessage,
    createdAt: handle.createdAt,
    lastUpdatedAt: handle.lastUpdatedAt,
    ttl: handle.ttlMs,
    pollInterval: handle.pollIntervalMs,
  }
}

/** Work that failed is a completed task whose result has an error; only a JSON-RPC error makes a task fail in MCP. */
function mcpStatus(task: TaskView): McpStatus {
  switch (task.status) {
    case 'input_required':
      return 'input_required'
    case 'succeeded':
      return 'completed'
    case 'failed':
      return rpcErrorOf(task) === undefined ? 'completed' : 'failed'
    case 'canceled':
      return 'cancelled'
    default:
      return 'working'
  }
}

/** The range that JSON-RPC reserves. */
const RPC_CODES = { min: -32_768, max: -32_000 }

/** The JSON-RPC error with which the task failed, if it is one. */
export function rpcErrorOf({ status, result }: TaskView): RpcError | undefined {
  const error = result?.error
  if (status !== 'failed' || !isObject(error)) return undefined
  const { code, message, data } = error
  if (typeof code !== 'number' || !Number.isInteger(code)) return undefined
  if (code < RPC_CODES.min || code > RPC_CODES.max) return undefined
  return {
    code,
    message: typeof message === 'string' ? message : 'Error',
    ...(data !== undefined && { data }),
  }
}
