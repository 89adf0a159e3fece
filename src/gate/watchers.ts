type Callback = () => void

/** Who waits for which task to come to rest. */
export class Watchers {
  #tenants = new Map<number, Map<string, Set<Callback>>>()

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  /** Returns the way to stop watching. */
  add(tenant: number, taskId: string, onRest: Callback): () => void {
    const tasks = this.#tenants.get(tenant) ?? new Map<string, Set<Callback>>()
    this.#tenants.set(tenant, tasks)
    const callbacks = tasks.get(taskId) ?? new Set<Callback>()
    tasks.set(taskId, callbacks)
    callbacks.add(onRest)
    return () => {
      callbacks.delete(onRest)
      if (callbacks.size === 0) tasks.delete(taskId)
      if (tasks.size === 0) this.#tenants.delete(tenant)
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
