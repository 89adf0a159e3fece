import { Fault } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { isOpen, type Task } from '../../core/task.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Store } from '../../store/store.ts'

interface Fetch {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly task_id: string
}

interface FetchesDeps extends Pick<Engine, 'submit' | 'report'> {
  readonly store: Pick<Store, 'reads'>
}

/** Fetches that are remembered, so that fetching the same result again writes nothing. */
const REMEMBERED = 10_000

/** Fetches that are recorded with one command. */
const CHUNK = 500

/**
 * Records that a principal fetched the result of a task, without delaying the response. Fetches that arrive while
 * others are being recorded are recorded together with one command. A failure loses nothing: the item stays unread, and
 * the next fetch of the result records it.
 */
export class Fetches {
  readonly #deps: FetchesDeps
  readonly #known = new Set<string>()
  #waiting: Fetch[] = []
  #writing: Promise<void> | undefined
  /** The write in progress, by tenant and principal. */
  readonly #inProgress = new Map<string, Promise<void>>()

  constructor(deps: FetchesDeps) {
    this.#deps = deps
  }

  /** Has to be called whenever a task is shown to a principal. It returns immediately and never throws. */
  note(task: Task, principal: PrincipalKey): void {
    if (isOpen(task)) return
    if (principal !== task.owner && principal !== `agent:${task.principal_ai}`) return
    const { tenant, task_id } = task
    const fetch = { tenant, principal, task_id }
    if (this.#known.has(keyOf(fetch))) return
    if (this.#known.size >= REMEMBERED) this.#known.clear()
    this.#known.add(keyOf(fetch))
    this.#waiting.push(fetch)
    this.#writing ??= this.#write()
  }

  /** Resolves when all fetches noted so far are recorded. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** Resolves when the fetches of one principal are recorded, without waiting for those of other principals. */
  async settledOf(tenant: number, principal: PrincipalKey): Promise<void> {
    const name = groupOf({ tenant, principal })
    const own = this.#waiting.filter((fetch) => groupOf(fetch) === name)
    if (own.length > 0) this.#waiting = this.#waiting.filter((fetch) => groupOf(fetch) !== name)
    await this.#inProgress.get(name)
    for (let from = 0; from < own.length; from += CHUNK) {
      await this.#markGroup(own.slice(from, from + CHUNK))
    }
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const fetches = this.#waiting.splice(0, CHUNK)
      for (const [name, group] of groups(fetches)) {
        const marking = this.#markGroup(group)
        this.#inProgress.set(name, marking)
        await marking
        this.#inProgress.delete(name)
      }
    }
    this.#writing = undefined
  }

  #markGroup(group: readonly Fetch[]): Promise<void> {
    return this.#mark(group).catch((error: unknown) => this.#failed(group, error))
  }

  async #mark(group: readonly Fetch[]): Promise<void> {
    const [first] = group
    if (first === undefined) return
    const { tenant, principal } = first
    const ids = group.map((fetch) => fetch.task_id)
    const items = await this.#deps.store.reads.itemsOfTasks(tenant, principal, ids, ['task.result_ready'], 1)
    const fresh = items.filter((item) => item.fetched_at === null)
    if (fresh.length === 0) return
    await this.#deps.submit({
      verb: 'mark',
      tenant,
      by: principal,
      role: 'agent',
      as: 'fetched',
      items: fresh.map(({ seq }) => ({ principal, seq })),
    })
  }

  #failed(group: readonly Fetch[], error: unknown): void {
    for (const fetch of group) this.#known.delete(keyOf(fetch))
    if (!(error instanceof Fault)) this.#deps.report(error)
  }
}

function keyOf({ tenant, principal, task_id }: Fetch): string {
  return `${tenant} ${task_id} ${principal}`
}

/** The fetches by tenant and principal. */
function groups(fetches: readonly Fetch[]): Iterable<[name: string, group: Fetch[]]> {
  const found = new Map<string, Fetch[]>()
  for (const fetch of fetches) {
    const name = groupOf(fetch)
    const group = found.get(name)
    if (group === undefined) found.set(name, [fetch])
    else group.push(fetch)
  }
  return found
}

function groupOf({ tenant, principal }: Pick<Fetch, 'tenant' | 'principal'>): string {
  return `${tenant} ${principal}`
}
