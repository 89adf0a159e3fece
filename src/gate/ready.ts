import type { Lane, Wanted } from '../core/matching.ts'
import type { QueuedTask } from '../core/task.ts'
import type { Head } from '../store/store.ts'

/** The ready tasks of one lane, as far as they were loaded, in claim order. */
export class ReadyQueue {
  readonly lane: Lane
  /** Whether the store may have more behind what was loaded. */
  readonly truncated: boolean
  readonly #mark: number | null
  readonly #lastLoaded: number
  #tasks: QueuedTask[]

  constructor(lane: Lane, head: Head) {
    this.lane = lane
    this.truncated = head.tasks.length === head.limit
    this.#mark = head.mark
    this.#lastLoaded = head.tasks.at(-1)?.rank ?? 0
    this.#tasks = [...head.tasks]
  }

  get tasks(): readonly QueuedTask[] {
    return this.#tasks
  }

  /** A task that became ready takes its place, unless unloaded ones stand before it. */
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

  /** The mark to store, if it is another than before. */
  newMark(): { set: number | null } | undefined {
    const first = this.#tasks[0]
    const set = first?.rank ?? (this.truncated ? this.#lastLoaded : null)
    return set === this.#mark ? undefined : { set }
  }
}

function isBefore(a: QueuedTask, b: QueuedTask): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.seq < b.seq)
}

/**
 * Merges the queues: preferred types first, then priority, then rank, then age. It looks only, so the caller may
 * stop anywhere; a task that stands in two queues comes once. It ends where a queue does that may go on behind what
 * was loaded: the next task might be one of those.
 */
export function* merge(queues: readonly ReadyQueue[], wanted: Wanted): Generator<QueuedTask> {
  const cursors = queues.map((queue) => ({
    queue,
    next: 0,
    preferred: queue.lane.type !== null && (wanted.preferred_types?.includes(queue.lane.type) ?? false),
  }))
  type Cursor = (typeof cursors)[number]
  const seen = new Set<string>()
  for (;;) {
    let best: { cursor: Cursor; task: QueuedTask } | undefined
    for (const cursor of cursors) {
      const task = cursor.queue.tasks[cursor.next]
      if (task === undefined && cursor.queue.truncated) return
      if (task === undefined) continue
      if (best === undefined || goesFirst(cursor, task, best.cursor, best.task)) best = { cursor, task }
    }
    if (best === undefined) return
    best.cursor.next++
    if (seen.has(best.task.task_id)) continue
    seen.add(best.task.task_id)
    yield best.task
  }

  function goesFirst(a: Cursor, task: QueuedTask, b: Cursor, other: QueuedTask): boolean {
    if (a.preferred !== b.preferred) return a.preferred
    if (a.queue.lane.priority !== b.queue.lane.priority) return a.queue.lane.priority > b.queue.lane.priority
    return isBefore(task, other)
  }
}
