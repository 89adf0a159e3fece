import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import type { TaskWatch } from './watch.ts'

/** How often a task is read that another process may change. */
const LOOK_EVERY_MS = 2_000

/** Waits for decisions, wherever they are made. */
export class Decisions {
  readonly #gate: Gate
  readonly #watch: TaskWatch

  constructor(gate: Gate, watch: TaskWatch) {
    this.#gate = gate
    this.#watch = watch
  }

  /** Resolves with the task once its question `n` is not open any more; with undefined if the signal is aborted. */
  async wait(caller: Caller, task_id: string, n: number, signal: AbortSignal): Promise<TaskView | undefined> {
    let hasChanged = true
    let wake = () => {}
    const changed = () => {
      hasChanged = true
      wake()
    }
    const unwatch = await this.#watch.watch(caller.tenant, task_id, changed)
    const look = this.#gate.isShared ? setInterval(changed, LOOK_EVERY_MS).unref() : undefined
    signal.addEventListener('abort', changed)
    try {
      while (!signal.aborted) {
        if (hasChanged) {
          hasChanged = false
          const task = await this.#gate.peekTask(caller, { task_id })
          if (task.question?.n !== n) return task
          continue
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return undefined
    } finally {
      unwatch()
      clearInterval(look)
      signal.removeEventListener('abort', changed)
    }
  }
}
