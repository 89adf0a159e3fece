import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'

type Callback = () => void

interface Watched {
  /** By task. */
  readonly callbacks: Map<string, Set<Callback>>
  /** Resolves with the way to stop listening to the gate. */
  readonly following: Promise<() => void>
}

/** Tells of changes of tasks: one ear at the gate for each tenant, whoever listens. */
export class TaskWatch {
  readonly #gate: Gate
  readonly #tenants = new Map<string, Watched>()

  constructor(gate: Gate) {
    this.#gate = gate
  }

  /**
   * Calls back when the task may be another, soon after, whichever process changed it. Word of another process can be
   * lost, so whoever must not miss a change also looks. Resolves, once it listens, with the way to stop.
   */
  async watch(tenant: string, taskId: string, onChange: Callback): Promise<() => void> {
    const watched = this.#tenants.get(tenant) ?? this.#follow(tenant)
    const callbacks = watched.callbacks.get(taskId) ?? new Set()
    watched.callbacks.set(taskId, callbacks)
    callbacks.add(onChange)
    const stop = () => {
      callbacks.delete(onChange)
      if (callbacks.size === 0 && watched.callbacks.get(taskId) === callbacks)
        watched.callbacks.delete(taskId)
      if (watched.callbacks.size === 0) this.#unfollow(tenant, watched)
    }
    try {
      await watched.following
      return stop
    } catch (error) {
      stop()
      throw error
    }
  }

  #follow(tenant: string): Watched {
    const callbacks: Watched['callbacks'] = new Map()
    const tell = (taskId: string) => {
      for (const callback of callbacks.get(taskId) ?? []) callback()
    }
    const caller: Caller = { tenant, principal: { kind: 'system', id: 'mcp' }, role: 'system' }
    const following = this.#gate.follow(caller, {}, ({ task_id }) => tell(task_id))
    const watched = { callbacks, following }
    this.#tenants.set(tenant, watched)
    return watched
  }

  #unfollow(tenant: string, watched: Watched): void {
    if (this.#tenants.get(tenant) === watched) this.#tenants.delete(tenant)
    void watched.following.then(
      (stop) => stop(),
      () => {},
    )
  }
}
