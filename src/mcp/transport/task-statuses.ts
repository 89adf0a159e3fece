import type { Caller } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import type { LegacyTask } from '../tasks/states.ts'
import type { TaskHandlers } from '../tasks/task-handlers.ts'

/** Further tasks of one session are not followed; their clients poll. */
const MAX_TASKS = 64

/** How often tasks are read that another process may change. */
const READ_EVERY_MS = 2_000

interface Followed {
  readonly caller: Caller
  /** The last status that was reported. */
  reported: string
  unwatch: () => void
}

/** Reports the status of the tasks of one session until they end. */
export class TaskStatuses {
  readonly #tasks: TaskHandlers
  readonly #report: (task: LegacyTask) => void
  readonly #followed = new Map<string, Followed>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(tasks: TaskHandlers, report: (task: LegacyTask) => void) {
    this.#tasks = tasks
    this.#report = report
  }

  async follow(taskId: string, caller: Caller): Promise<void> {
    if (this.#isClosed || this.#followed.size >= MAX_TASKS || this.#followed.has(taskId)) return
    const followed: Followed = { caller, reported: '', unwatch: () => {} }
    this.#followed.set(taskId, followed)
    if (this.#tasks.gate.isShared) {
      this.#timer ??= setInterval(() => void this.#read([...this.#followed.keys()]), READ_EVERY_MS).unref()
    }
    const read = () => void this.#read([taskId])
    const unwatch = await this.#tasks.watch.watch(caller.tenant, taskId, read)
    if (this.#followed.get(taskId) !== followed) return unwatch()
    followed.unwatch = unwatch
    // It may have changed before the watch began.
    read()
  }

  close(): void {
    this.#isClosed = true
    for (const taskId of this.#followed.keys()) this.#unfollow(taskId)
  }

  async #read(taskIds: readonly string[]): Promise<void> {
    const { gate, onError } = this.#tasks
    const byCaller = new Map<string, { caller: Caller; task_ids: string[] }>()
    for (const id of taskIds) {
      const caller = this.#followed.get(id)?.caller
      if (caller === undefined) continue
      const key = JSON.stringify(caller)
      const asked = byCaller.get(key) ?? { caller, task_ids: [] }
      byCaller.set(key, asked)
      asked.task_ids.push(id)
    }
    for (const { caller, task_ids } of byCaller.values()) {
      try {
        const views = await gate.peekTasks(caller, { task_ids })
        for (const view of views) this.#seen(view)
        for (const id of task_ids) if (!views.some(({ task_id }) => task_id === id)) this.#unfollow(id)
      } catch (error) {
        onError(error)
      }
    }
  }

  #seen(view: TaskView): void {
    const followed = this.#followed.get(view.task_id)
    if (followed === undefined) return
    const task = this.#tasks.states.legacy(view)
    if (isTerminal(view.status)) this.#unfollow(view.task_id)
    // The poll interval and heartbeats of the worker are no changes.
    const status = JSON.stringify([task.status, task.statusMessage])
    if (followed.reported === status) return
    // The client knows from its call that the task is being worked on.
    const isKnown = followed.reported === '' && task.status === 'working'
    followed.reported = status
    if (!isKnown) this.#report(task)
  }

  #unfollow(taskId: string): void {
    this.#followed.get(taskId)?.unwatch()
    this.#followed.delete(taskId)
    if (this.#followed.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
