import { Fault } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { isOpen, type Task } from '../../core/task.ts'
import type { Services } from '../services.ts'

interface Fetch {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly task_id: string
}

/** Tasks whose results were handed out lately. Asking again for the same one then costs nothing. */
const REMEMBERED = 10_000
const AT_ONCE = 500

/**
 * Notes that a principal was given the result it was waiting for, without letting it wait for the note. While notes
 * are being written the next ones collect, so that many readers cost one command. A note that fails is no loss: the
 * item stays unread, and the next look at the result notes it again.
 */
export class Fetches {
  readonly #engine: Services
  readonly #known = new Set<string>()
  #waiting: Fetch[] = []
  #writing: Promise<void> | undefined
  /** What is being written, by whose it is. */
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(engine: Services) {
    this.#engine = engine
  }

  /** To be called when somebody was shown a task. Never throws, and takes no time. */
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

  /** Resolves when what was noted so far is written. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** The same for one principal, which does not wait for the notes of others. */
  async settledOf(tenant: number, principal: PrincipalKey): Promise<void> {
    const name = groupOf({ tenant, principal })
    const own = this.#waiting.filter((fetch) => groupOf(fetch) === name)
    if (own.length > 0) this.#waiting = this.#waiting.filter((fetch) => groupOf(fetch) !== name)
    await this.#underWay.get(name)
    for (let from = 0; from < own.length; from += AT_ONCE) {
      await this.#markGroup(own.slice(from, from + AT_ONCE))
    }
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const fetches = this.#waiting.splice(0, AT_ONCE)
      for (const [name, group] of groups(fetches)) {
        const marking = this.#markGroup(group)
        this.#underWay.set(name, marking)
        await marking
        this.#underWay.delete(name)
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
    const { store } = this.#engine
    const items = await store.reads.itemsOfTasks(tenant, principal, ids, ['task.result_ready'], 1)
    const fresh = items.filter((item) => item.fetched_at === null)
    if (fresh.length === 0) return
    await this.#engine.submit({
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
    if (!(error instanceof Fault)) this.#engine.report(error)
  }
}

function keyOf({ tenant, principal, task_id }: Fetch): string {
  return `${tenant} ${task_id} ${principal}`
}

/** Those of one principal together. */
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
