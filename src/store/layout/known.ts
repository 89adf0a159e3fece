import type { PrincipalKey } from '../../core/principal.ts'
import type { Task } from '../../core/task.ts'
import { isOpen } from '../../core/task.ts'
import type { SeqList } from './seq-lists.ts'
import { type Parked, parkedOf, type Stored } from './task-state.ts'

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
  readonly #tasks = new Map<string, KnownTask>()
  readonly #unread = new Map<string, UnreadRow>()
  readonly #items = new Map<string, UnreadRow | undefined>()

  /** Notes a loaded row, and returns its task. */
  task<T extends Task>({ task, receipts }: Stored<T>): T {
    this.#tasks.set(keyOf(task), { parked: isOpen(task) ? parkedOf(task) : null, receipts })
    return task
  }

  /** Notes an item that exists, with the row of unread items that it is in. */
  item(tenant: number, principal: PrincipalKey, seq: number, row: UnreadRow | undefined): void {
    this.#items.set(itemKey(tenant, principal, seq), row && this.#same(row))
  }

  isLive(task: TaskKey): boolean {
    const known = this.#tasks.get(keyOf(task))
    return known !== undefined && known.parked !== null
  }

  /** Where the row of a live task is. */
  parked(task: TaskKey): Parked {
    const parked = this.#tasks.get(keyOf(task))?.parked
    if (parked === undefined || parked === null) throw new Error(`the open task ${task.seq} was not loaded`)
    return parked
  }

  /** The receipts that the row of a task names; none of a task that was not loaded. */
  receipts(task: TaskKey): readonly number[] {
    return this.#tasks.get(keyOf(task))?.receipts ?? NONE
  }

  hasItem(tenant: number, principal: PrincipalKey, seq: number): boolean {
    return this.#items.has(itemKey(tenant, principal, seq))
  }

  /** The row of unread items that has this one; the same object for all of its items. */
  unreadWith(tenant: number, principal: PrincipalKey, seq: number): UnreadRow | undefined {
    return this.#items.get(itemKey(tenant, principal, seq))
  }

  #same(row: UnreadRow): UnreadRow {
    const key = itemKey(row.tenant, row.principal, row.first)
    const known = this.#unread.get(key) ?? row
    this.#unread.set(key, known)
    return known
  }
}

const NONE: readonly number[] = []

function keyOf({ tenant, seq }: TaskKey): string {
  return `${tenant} ${seq}`
}

function itemKey(tenant: number, principal: PrincipalKey, seq: number): string {
  return `${tenant} ${seq} ${principal}`
}
