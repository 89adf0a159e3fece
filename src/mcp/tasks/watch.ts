import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'

type Callback = () => void

interface Watched {
  readonly callbacks: Map<string, Set<Callback>>
  /** Resolves with an unsubscribe function. */
  readonly following: Promise<() => void>
}

/** Watches tasks for changes, with one subscription to the gate per tenant. */
export class TaskWatch {
  readonly #gate: Gate
  readonly #tenants = new Map<string, Watched>()

  constructor(gate: Gate) {
    this.#gate = gate
  }

  /**
   * Calls back after the task has changed in any process. Notifications of other processes can be lost, so callers that
   * must not miss a change also poll. Resolves with an unsubscribe function once the watch has begun.
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
