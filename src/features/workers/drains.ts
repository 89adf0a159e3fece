import type { Engine } from '../../engine/engine.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'

const KIND = 'worker_drain'
const PAGE = 1000

/** The workers that have to stop. Changes by other processes are visible within two seconds. */
export class Drains {
  readonly #engine: Engine
  readonly #copies: TenantCopies<ReadonlySet<string>>
  /** Callbacks of waiting claims, by tenant and worker. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(engine: Engine) {
    this.#engine = engine
    this.#copies = new TenantCopies({
      shared: engine.store.shared,
      read: (tenant) => this.#read(tenant),
      replaced: (tenant, after, before) => {
        for (const worker of after) if (!before.has(worker)) this.#release(tenant, worker)
      },
      report: (error) => engine.report(error),
    })
  }

  /** Undefined until loaded. */
  known(tenant: number): ReadonlySet<string> | undefined {
    return this.#copies.known(tenant)
  }

  load(tenant: number): Promise<ReadonlySet<string>> {
    return this.#engine.reading(() => this.#copies.load(tenant))
  }

  has(tenant: number, worker_id: string): boolean {
    return this.#copies.known(tenant)?.has(worker_id) ?? false
  }

  async set(tenant: number, worker_id: string, drain: boolean): Promise<void> {
    const entry = { tenant, kind: KIND, name: worker_id, value: '{}', due_at: null }
    if (drain) await this.#engine.writing((entries) => entries.put(entry))
    else await this.#engine.writing((entries) => entries.remove(tenant, KIND, worker_id))
    await this.#engine.reading(() => this.#copies.refresh(tenant))
  }

  /** `onDrain` is called when the worker has to stop. Returns an unsubscribe function. */
  wait(tenant: number, worker_id: string, onDrain: () => void): () => void {
    const key = keyOf(tenant, worker_id)
    const waiting = this.#waiting.get(key) ?? new Set()
    this.#waiting.set(key, waiting)
    waiting.add(onDrain)
    return () => {
      waiting.delete(onDrain)
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
    }
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  #release(tenant: number, worker_id: string): void {
    for (const onDrain of this.#waiting.get(keyOf(tenant, worker_id)) ?? []) onDrain()
  }

  async #read(tenant: number): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for (let after = ''; ; ) {
      const page = await this.#engine.store.entries.list(tenant, KIND, after, PAGE)
      for (const { name } of page) found.add(name)
      if (page.length < PAGE) return found
      after = page.at(-1)?.name ?? after
    }
  }
}

function keyOf(tenant: number, worker_id: string): string {
  return `${tenant} ${worker_id}`
}
