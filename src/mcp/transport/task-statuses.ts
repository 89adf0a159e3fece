import type { Caller } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
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
      this.#timer ??= setInterval(() => {
        for (const id of this.#followed.keys()) void this.#read(id)
      }, READ_EVERY_MS).unref()
    }
    const read = () => void this.#read(taskId)
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

  async #read(taskId: string): Promise<void> {
    const followed = this.#followed.get(taskId)
    if (followed === undefined) return
    const { gate, states, onError } = this.#tasks
    try {
      const [view] = await gate.peekTasks(followed.caller, { task_ids: [taskId] })
      if (this.#followed.get(taskId) !== followed) return
      if (view === undefined) return this.#unfollow(taskId)
      const task = states.legacy(view)
      if (isTerminal(view.status)) this.#unfollow(taskId)
      // The poll interval and heartbeats of the worker are no changes.
      const status = JSON.stringify([task.status, task.statusMessage])
      const isFirst = followed.reported === ''
      if (followed.reported === status) return
      followed.reported = status
      // The client knows from its call that the task is being worked on.
      if (!isFirst || task.status !== 'working') this.#report(task)
    } catch (error) {
      onError(error)
    }
  }

  #unfollow(taskId: string): void {
    this.#followed.get(taskId)?.unwatch()
    this.#followed.delete(taskId)
    if (this.#followed.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
