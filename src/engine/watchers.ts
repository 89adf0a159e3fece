type Callback = () => void

/** Who waits for which task to come to rest. */
export class Watchers {
  #tenants = new Map<number, Map<string, Set<Callback>>>()

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  /** Returns the function that unsubscribes; calling it again does nothing. */
  add(tenant: number, taskId: string, onRest: Callback): () => void {
    const tasks = this.#tenants.get(tenant) ?? new Map<string, Set<Callback>>()
    this.#tenants.set(tenant, tasks)
    const callbacks = tasks.get(taskId) ?? new Set<Callback>()
    tasks.set(taskId, callbacks)
    // A subscription of its own: the same callback may be added twice, and each is removed by its own unsubscribe.
    const subscription = () => onRest()
    callbacks.add(subscription)
    return () => {
      // Once these are empty and removed, others may have been put in their place, which are not ours to remove.
      if (!callbacks.delete(subscription) || callbacks.size > 0) return
      if (tasks.get(taskId) === callbacks) tasks.delete(taskId)
      if (tasks.size === 0 && this.#tenants.get(tenant) === tasks) this.#tenants.delete(tenant)
    }
  }

  rests(tenant: number, taskId: string): void {
    for (const callback of [...(this.#tenants.get(tenant)?.get(taskId) ?? [])]) callback()
  }

  /** The watched tasks of each tenant. */
  watched(): { tenant: number; taskIds: string[] }[] {
    return [...this.#tenants].map(([tenant, tasks]) => ({ tenant, taskIds: [...tasks.keys()] }))
  }

  /** Everybody stops waiting. */
  release(): void {
    for (const { tenant, taskIds } of this.watched()) for (const id of taskIds) this.rests(tenant, id)
  }
}
