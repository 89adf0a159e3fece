import type { Progress } from '@modelcontextprotocol/server'
import { isParked } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import type { WaitAnswer } from '../../features/tasks/wait-for-task.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import type { Call, CreatedTask, TaskTool } from '../tools/tool.ts'
import { clientOf } from '../transport/client-instance.ts'
import { hasLeft } from '../transport/open-call.ts'
import { LogReports } from './log-reports.ts'
import { withResolvedResult } from './results.ts'
import type { TaskWatch } from './watch.ts'

export interface TaskHoldOptions {
  readonly gate: Gate
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

const MAX_REASON = 200

/** Holds a call until its task ends or waits for a person, or until its time is up. */
export class TaskHold {
  readonly #options: TaskHoldOptions
  readonly #canceling = new Set<Promise<void>>()

  constructor(options: TaskHoldOptions) {
    this.#options = options
  }

  /** Resolves when the cancellations that have begun are durable. */
  async settled(): Promise<void> {
    await Promise.all(this.#canceling)
  }

  /**
   * The task at the end of the hold. If the client cancels or closes the call, the task is canceled too if the tool
   * requires it, unless the task waits for a person.
   */
  async hold(tool: TaskTool, task: CreatedTask, seconds: number, call: Call): Promise<WaitAnswer> {
    const { gate, watch, onError } = this.#options
    const { caller, created } = task
    const { signal, progress, peer } = call
    const onAbort = () => {
      if (tool.endsWithCall && hasLeft(signal) && !isParked(created.status)) this.#cancel(task, call, signal)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const reports = progress && new TaskProgress({ gate, watch, onError }, task, progress)
    const logs = peer?.logLevel && new LogReports({ gate, peer, onError }, task)
    try {
      const wait = { task_id: created.task_id, wait_seconds: seconds }
      return await withResolvedResult(gate, caller, await gate.waitForTask(caller, wait, signal))
    } finally {
      signal.removeEventListener('abort', onAbort)
      reports?.stop()
      await logs?.stop()
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

/** The reason that is stored with the task. */
function reasonOf(call: Call, said: unknown): string {
  const { name, version } = clientOf(call)
  const client = ['The MCP client', name, version].filter((part) => part !== null).join(' ')
  const why = typeof said === 'string' ? cleanLine(said, MAX_REASON) : ''
  return why === '' ? `${client} canceled the call.` : `${client} canceled the call: ${why}`
}

interface TaskProgressDeps {
  readonly gate: Gate
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

/** Reports the progress of a task, whichever server runs it, until it is stopped. */
export class TaskProgress {
  readonly #deps: TaskProgressDeps
  readonly #task: CreatedTask
  readonly #tell: (progress: Progress) => void
  /** MCP requires each report to have a higher value than the one before. */
  #reports = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  #isNews = false
  #isStopped = false

  constructor(deps: TaskProgressDeps, task: CreatedTask, tell: (progress: Progress) => void) {
    this.#deps = deps
    this.#task = task
    this.#tell = tell
    const { caller, created } = task
    void deps.watch
      .watch(caller.tenant, created.task_id, () => this.#changed())
      .then((unwatch) => {
        this.#unwatch = unwatch
        if (this.#isStopped) unwatch()
        // There may have been progress before the watch began.
        else this.#changed()
      }, deps.onError)
  }

  #unwatch = () => {}

  stop(): void {
    this.#isStopped = true
    this.#unwatch()
  }

  /** One read at a time. Changes during a read cause another one. */
  #changed(): void {
    this.#isNews = true
    this.#reading ??= this.#read()
      .catch(this.#deps.onError)
      .finally(() => {
        this.#reading = undefined
      })
  }

  async #read(): Promise<void> {
    const { caller, created } = this.#task
    while (this.#isNews && !this.#isStopped) {
      this.#isNews = false
      const { progress } = await this.#deps.gate.getTask(caller, { task_id: created.task_id })
      const report = progressOf(progress)
      if (report === undefined || this.#isStopped || report.progress <= this.#reports) continue
      this.#reports = report.progress
      this.#tell(report)
    }
  }
}

/** The progress as MCP defines it. The reports of upstreams have that format; those of workers have a percentage. */
export function progressOf(report: unknown): Progress | undefined {
  if (!isObject(report)) return undefined
  const { progress, total, percent } = report
  const message = report.upstream_message ?? report.message
  const said = typeof message === 'string' ? { message } : {}
  if (typeof progress === 'number') {
    return { progress, ...(typeof total === 'number' && { total }), ...said }
  }
  return typeof percent === 'number' ? { progress: percent, total: 100, ...said } : undefined
}
