/** Who took a run. Later calls about it name only the run. */
export interface Run {
  readonly worker_id: string
  readonly worker_kind?: string
}

const REMEMBERED = 10_000

/** Runs that this process handed out. It only fills in names: the gate checks them as if the caller had given them. */
export class Runs {
  readonly #byId = new Map<string, Run>()

  add(runId: string, run: Run): void {
    this.#byId.set(runId, run)
    if (this.#byId.size <= REMEMBERED) return
    for (const oldest of this.#byId.keys()) {
      this.#byId.delete(oldest)
      return
    }
  }

  find(runId: string): Run | undefined {
    return this.#byId.get(runId)
  }
}
