import type { Random } from '../util/random.ts'
import type { Relationship } from './command.ts'
import type { Links } from './flow.ts'
import type { InboxItem } from './inbox.ts'
import type { ConcurrencyLimit, Owner, RateLimit, Wanted } from './matching.ts'
import type { PrincipalKey } from './principal.ts'
import type { Question } from './question.ts'
import type { Receipt, ReceiptType } from './receipt.ts'
import type { Settings } from './settings.ts'
import type { QueuedTask, Task, TaskSpec } from './task.ts'

/** The counters of a tenant. One batch at a time may change them. */
export interface Tenant {
  readonly tenant: number
  /** The random half of its receipt ids; never changes. */
  readonly salt: string
  /** Of the newest receipt. Gap-free. */
  readonly seq: number
  /** The turn that is being served: the highest rank ever claimed. */
  readonly clock: number
  readonly open_tasks: number
  readonly active_leases: number
  readonly ended_tasks: number
  /** The size of the bodies of all receipts. */
  readonly receipt_bytes: number
  /** Lanes are numbered 1 to this. */
  readonly lanes: number
  /** Counts the batches that changed lanes. */
  readonly lanes_version: number
}

/** What a decision may look at: one tenant as the commands before this one left it. Looking changes nothing. */
export interface World {
  readonly settings: Settings
  readonly random: Random
  readonly now: number
  readonly tenant: Tenant
  task(taskId: string): Task | undefined
  /** In the order in which they were asked. */
  questions(taskId: string): readonly Question[]
  keyed(owner: PrincipalKey, idempotencyKey: string): TaskSpec | undefined
  owner(owner: string): Owner
  /** The lane and the pool of a new task. Throws if the owner's open tasks occupy as many lanes as they may. */
  lane(
    type: string,
    capabilities: readonly string[],
    priority: number,
    owner: PrincipalKey,
    limit?: ConcurrencyLimit | null,
    rate?: RateLimit | null,
  ): { lane: number; pool: number }
  /** The ready tasks that match the claim, in the order in which they are leased. */
  ready(wanted: Wanted): Iterable<QueuedTask>
  receipt(seq: number): Receipt | undefined
  /** The newest receipt of that type among those that name `parent`. */
  child(parent: number, type: ReceiptType): Receipt | undefined
  acknowledgement(seq: number, by: PrincipalKey): number | undefined
  relationship(principal: PrincipalKey): Relationship | undefined
  item(principal: PrincipalKey, seq: number): InboxItem | undefined
  /** The links of a task that had ended before this batch; undefined if they were not loaded. */
  links(seq: number): Links | undefined
}
