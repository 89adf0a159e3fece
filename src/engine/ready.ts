import type { QueuedTask } from '../core/task.ts'
import type { Head } from '../store/store.ts'

/** The loaded ready tasks of one lane, in claim order. */
export class ReadyQueue {
  /** Whether the store may have more tasks after the loaded ones. */
  readonly truncated: boolean
  readonly #lastLoaded: number
  #tasks: QueuedTask[]

  /** Without a head, for a lane without ready tasks. */
  constructor(head?: Head) {
    this.truncated = head !== undefined && isTruncated(head)
    this.#lastLoaded = head?.tasks.at(-1)?.rank ?? 0
    this.#tasks = [...(head?.tasks ?? [])]
  }

  get tasks(): readonly QueuedTask[] {
    return this.#tasks
  }

  /** Inserts a task that became ready, unless tasks that were not loaded come before it. */
  add(task: QueuedTask): void {
    if (this.truncated && task.rank > this.#lastLoaded) return
    let low = 0
    let high = this.#tasks.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#tasks[middle]
      if (other !== undefined && isBefore(other, task)) low = middle + 1
      else high = middle
    }
    this.#tasks.splice(low, 0, task)
  }

  remove(task: QueuedTask): void {
    const index = this.#tasks.findIndex((other) => other.task_id === task.task_id)
    if (index >= 0) this.#tasks.splice(index, 1)
  }

  /** The current low-water mark of the lane. */
  get mark(): number | null {
    return this.#tasks[0]?.rank ?? (this.truncated ? this.#lastLoaded : null)
  }
}

/** Whether the store may have more tasks of the lane than were loaded. */
export function isTruncated(head: Head): boolean {
  return head.tasks.length === head.limit
}

function isBefore(a: QueuedTask, b: QueuedTask): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.seq < b.seq)
}

/**
 * Merges the queues of one level by rank, then age, without the tasks in `seen`, up to the rank `bound`. It removes nothing, so the caller may
 * stop anywhere. It ends at the end of a truncated queue, because the next task might be one that was not loaded, and
 * returns whether that is the case.
 */
export function* merge(
  queues: readonly ReadyQueue[],
  seen: Set<string>,
  bound = Number.POSITIVE_INFINITY,
): Generator<QueuedTask, boolean, undefined> {
  const cursors = queues.map((queue) => ({ queue, next: 0 }))
  for (;;) {
    let best: { cursor: (typeof cursors)[number]; task: QueuedTask } | undefined
    for (const cursor of cursors) {
      const task = cursor.queue.tasks[cursor.next]
      if (task === undefined && cursor.queue.truncated) return true
      if (task !== undefined && (best === undefined || isBefore(task, best.task))) best = { cursor, task }
    }
    if (best === undefined) return bound < Number.POSITIVE_INFINITY
    if (best.task.rank > bound) return true
    best.cursor.next++
    if (seen.has(best.task.task_id)) continue
    seen.add(best.task.task_id)
    yield best.task
  }
}
