import type { CallToolResult } from '@modelcontextprotocol/server'
import { taskTime } from '../../core/ids.ts'
import { isoTime } from '../../core/time.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Links } from '../../features/links.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'
import { PollMeter, pollInterval } from './poll-interval.ts'
import { elicitation, questionOf } from './questions.ts'
import { ended } from './results.ts'
import { approvalWords, inputWords, statusMessage } from './status-messages.ts'

/** The statuses of tasks in MCP, of both revisions. */
export type McpStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A task of 2026-07-28, as every message about it begins. */
export interface TaskHandle {
  readonly taskId: string
  readonly status: McpStatus
  readonly statusMessage: string | undefined
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long the task is kept: for ever. */
  readonly ttlMs: null
  readonly pollIntervalMs: number
}

/** With what its status brings along. */
export interface DetailedTask extends TaskHandle {
  readonly inputRequests: Readonly<Record<string, object>> | undefined
  readonly result: (CallToolResult & { readonly resultType: 'complete' }) | undefined
  readonly error: RpcError | undefined
}

/** A task of 2025-11-25. */
export interface OldTask {
  readonly taskId: string
  readonly status: McpStatus
  readonly statusMessage: string | undefined
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttl: null
  readonly pollInterval: number
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Tasks in the words of MCP. */
export class TaskStates {
  readonly #meter = new PollMeter()
  readonly #links: Links
  readonly #now: () => number

  constructor(links: Links, now: () => number = Date.now) {
    this.#links = links
    this.#now = now
  }

  /** Somebody looks at a task. */
  polled(): void {
    this.#meter.note(this.#now())
  }

  handle(task: TaskView): TaskHandle {
    return {
      taskId: task.task_id,
      status: mcpStatus(task),
      statusMessage: statusMessage(task, this.#links),
      createdAt: task.created_at,
      lastUpdatedAt: task.updated_at,
      ttlMs: null,
      pollIntervalMs: this.#pollInterval(task),
    }
  }

  /**
   * What tasks/get says. A client that cannot show forms is not asked anything: its agent reads what is wanted in the
   * status message, and answers with a tool.
   */
  detailed(task: TaskView, elicits: boolean): DetailedTask {
    const status = mcpStatus(task)
    const question = status === 'input_required' && elicits ? questionOf(task) : undefined
    const isUnasked = status === 'input_required' && question === undefined
    return {
      taskId: task.task_id,
      status: isUnasked ? 'working' : status,
      statusMessage: isUnasked ? inputWords(task) : statusMessage(task, this.#links),
      createdAt: task.created_at,
      lastUpdatedAt: task.updated_at,
      ttlMs: null,
      pollIntervalMs: this.#pollInterval(task),
      inputRequests: question && { [question.key]: elicitation(question) },
      result: status === 'completed' ? { resultType: 'complete', ...ended(task) } : undefined,
      error: status === 'failed' ? rpcErrorOf(task) : undefined,
    }
  }

  /** One that was created just now, as tasks/get would say. */
  fresh({ task_id, status }: Pick<TaskView, 'task_id' | 'status'>): TaskHandle {
    const isPending = status === 'pending_approval'
    const createdAt = isoTime(taskTime(task_id))
    return {
      taskId: task_id,
      status: 'working',
      statusMessage: isPending ? approvalWords({ task_id }, this.#links) : 'Waits for a worker.',
      createdAt,
      lastUpdatedAt: createdAt,
      ttlMs: null,
      pollIntervalMs: this.#pollInterval({ created_at: createdAt, status }),
    }
  }

  /** Clients of 2025-11-25 can be asked nothing without a session. */
  old(task: TaskView): OldTask {
    return asOld(this.detailed(task, false))
  }

  #pollInterval({ created_at, status }: Pick<TaskView, 'created_at' | 'status'>): number {
    const now = this.#now()
    return pollInterval(
      now - Date.parse(created_at),
      status === 'pending_approval',
      this.#meter.perSecond(now),
    )
  }
}

export function asOld(handle: TaskHandle): OldTask {
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

/** A failure of the work is a result with an error in it; only an error of JSON-RPC makes a task fail in MCP. */
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

/** The range that JSON-RPC keeps for errors of its own. */
const RPC_CODES = { min: -32_768, max: -32_000 }

/** The error of JSON-RPC with which the task failed, if it is one. */
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

export function isOver(task: TaskView): boolean {
  return isTerminal(task.status)
}
