import type { Progress } from '@modelcontextprotocol/server'
import type { Gate } from '../../features/gate.ts'
import { isObject } from '../../util/guards.ts'
import type { CreatedTask } from './task-tool.ts'
import type { TaskWatch } from './watch.ts'

interface TaskProgressParts {
  readonly gate: Gate
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

/** Tells of the progress of a task, whichever server makes it, until it is stopped. */
export class TaskProgress {
  readonly #parts: TaskProgressParts
  readonly #task: CreatedTask
  readonly #tell: (progress: Progress) => void
  /** MCP wants each report to be further than the one before. */
  #told = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  #isNews = false
  #isStopped = false

  constructor(parts: TaskProgressParts, task: CreatedTask, tell: (progress: Progress) => void) {
    this.#parts = parts
    this.#task = task
    this.#tell = tell
    const { caller, created } = task
    void parts.watch
      .watch(caller.tenant, created.task_id, () => this.#changed())
      .then((unwatch) => {
        this.#unwatch = unwatch
        if (this.#isStopped) unwatch()
        // It may have got on before it was watched.
        else this.#changed()
      }, parts.onError)
  }

  #unwatch = () => {}

  stop(): void {
    this.#isStopped = true
    this.#unwatch()
  }

  /** One read at a time; what changes meanwhile is read once more. */
  #changed(): void {
    this.#isNews = true
    this.#reading ??= this.#read()
      .catch(this.#parts.onError)
      .finally(() => {
        this.#reading = undefined
      })
  }

  async #read(): Promise<void> {
    const { caller, created } = this.#task
    while (this.#isNews && !this.#isStopped) {
      this.#isNews = false
      const { progress } = await this.#parts.gate.getTask(caller, { task_id: created.task_id })
      const report = progressOf(progress)
      if (report === undefined || this.#isStopped || report.progress <= this.#told) continue
      this.#told = report.progress
      this.#tell(report)
    }
  }
}

/** In the words of MCP: a report of an upstream as it was, and one of a worker by its percentage. */
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
