import { isParked } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import type { WaitAnswer } from '../../features/tasks/wait-for-task.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import type { Call } from '../tools/tool.ts'
import { clientOf } from '../transport/client-instance.ts'
import { hasLeft } from '../transport/open-call.ts'
import { TaskProgress } from './progress.ts'
import { withResolvedResult } from './resolved-task.ts'
import type { CreatedTask, TaskTool } from './task-tool.ts'
import type { TaskWatch } from './watch.ts'

export interface TaskHoldOptions {
  readonly gate: Gate
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

const MAX_REASON = 200

/** Holds a call until its task has come to rest, or for as long as it may wait. */
export class TaskHold {
  readonly #options: TaskHoldOptions
  readonly #canceling = new Set<Promise<void>>()

  constructor(options: TaskHoldOptions) {
    this.#options = options
  }

  /** Resolves when the cancels that have begun are durable. */
  async settled(): Promise<void> {
    await Promise.all(this.#canceling)
  }

  /**
   * The task at the end of the hold. A client that cancels the call meanwhile, or closes it, cancels the task too where
   * the tool says so; but never one that waits for a person, who was promised it.
   */
  async hold(tool: TaskTool, task: CreatedTask, seconds: number, call: Call): Promise<WaitAnswer> {
    const { gate, watch, onError } = this.#options
    const { caller, created } = task
    const { signal, progress } = call
    const onAbort = () => {
      if (tool.endsWithCall && hasLeft(signal) && !isParked(created.status)) this.#cancel(task, call, signal)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const told = progress && new TaskProgress({ gate, watch, onError }, task, progress)
    try {
      const wait = { task_id: created.task_id, wait_seconds: seconds }
      return await withResolvedResult(gate, caller, await gate.waitForTask(caller, wait, signal))
    } finally {
      signal.removeEventListener('abort', onAbort)
      told?.stop()
    }
  }

  #cancel({ caller, created }: CreatedTask, call: Call, { reason }: AbortSignal): void {
    const { gate, onError } = this.#options
    const why = { task_id: created.task_id, reason: reasonOf(call, reason) }
    const canceled = gate
      .cancelTask(caller, why)
      .then(() => {}, onError)
      .finally(() => this.#canceling.delete(canceled))
    this.#canceling.add(canceled)
  }
}

/** What whoever looks at the task reads: who canceled it, and why if the client said so. */
function reasonOf(call: Call, said: unknown): string {
  const { name, version } = clientOf(call)
  const client = ['The MCP client', name, version].filter((part) => part !== null).join(' ')
  const why = typeof said === 'string' ? cleanLine(said, MAX_REASON) : ''
  return why === '' ? `${client} canceled the call.` : `${client} canceled the call: ${why}`
}
