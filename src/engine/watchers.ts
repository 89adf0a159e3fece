type Callback = () => void

/** The waits for tasks to end or to be parked. */
export class Watchers {
  #tenants = new Map<number, Map<string, Set<Callback>>>()

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  /** Returns an unsubscribe function; a second call has no effect. */
  add(tenant: number, taskId: string, onRest: Callback): () => void {
    const tasks = this.#tenants.get(tenant) ?? new Map<string, Set<Callback>>()
    this.#tenants.set(tenant, tasks)
    const callbacks = tasks.get(taskId) ?? new Set<Callback>()
    tasks.set(taskId, callbacks)
    // A separate object, because the same callback may be added twice and each subscription is removed separately.
    const subscription = () => onRest()
    callbacks.add(subscription)
    return () => {
      // A map that became empty was removed and may have been replaced by a new one, which must stay.
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

  /** Ends all waits. */
  release(): void {
    for (const { tenant, taskIds } of this.watched()) for (const id of taskIds) this.rests(tenant, id)
  }
}
