import type { PrincipalKey } from '../../core/principal.ts'
import { isOpen, type Task } from '../../core/task.ts'
import type { SeqList } from './seq-lists.ts'
import { type Parked, parkedOf, type Stored } from './task-state.ts'
import { TenantMap } from './tenant-map.ts'

/** Unread items of an inbox that one commit filed. */
export interface UnreadRow extends SeqList {
  readonly created_at: number
}

interface KnownTask {
  /** Null if the task is done. */
  readonly parked: Parked | null
  readonly receipts: readonly number[]
}

type TaskKey = Pick<Task, 'tenant' | 'seq'>

/** What the rows that a commit has loaded say besides what they mean. The writes of the commit depend on it. */
export class Known {
  readonly #tasks = new TenantMap<number, KnownTask>()
  readonly #unread = new TenantMap<string, UnreadRow>()
  readonly #items = new TenantMap<string, UnreadRow | null>()

  /** Notes a loaded row, and returns its task. */
  task<T extends Task>({ task, receipts }: Stored<T>): T {
    this.#tasks.set(task.tenant, task.seq, { parked: isOpen(task) ? parkedOf(task) : null, receipts })
    return task
  }

  /** Notes an item that exists, with the row of unread items that it is in. */
  item(tenant: number, principal: PrincipalKey, seq: number, row: UnreadRow | undefined): void {
    this.#items.set(tenant, itemKey(principal, seq), row === undefined ? null : this.#same(row))
  }

  isLive({ tenant, seq }: TaskKey): boolean {
    const known = this.#tasks.get(tenant, seq)
    return known !== undefined && known.parked !== null
  }

  /** Where the row of a live task is. */
  parked({ tenant, seq }: TaskKey): Parked {
    const parked = this.#tasks.get(tenant, seq)?.parked
    if (parked === undefined || parked === null) throw new Error(`the open task ${seq} was not loaded`)
    return parked
  }

  /** The receipts that the row of a task names; none of a task that was not loaded. */
  receipts({ tenant, seq }: TaskKey): readonly number[] {
    return this.#tasks.get(tenant, seq)?.receipts ?? NONE
  }

  hasItem(tenant: number, principal: PrincipalKey, seq: number): boolean {
    return this.#items.get(tenant, itemKey(principal, seq)) !== undefined
  }

  /** The row of unread items that has this one; the same object for all of its items. */
  unreadWith(tenant: number, principal: PrincipalKey, seq: number): UnreadRow | undefined {
    return this.#items.get(tenant, itemKey(principal, seq)) ?? undefined
  }

  #same(row: UnreadRow): UnreadRow {
    const key = itemKey(row.principal, row.first)
    const known = this.#unread.get(row.tenant, key) ?? row
    this.#unread.set(row.tenant, key, known)
    return known
  }
}

const NONE: readonly number[] = []

function itemKey(principal: PrincipalKey, seq: number): string {
  return `${seq} ${principal}`
}
