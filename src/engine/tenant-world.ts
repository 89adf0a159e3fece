import type { Relationship } from '../core/command.ts'
import type { Decision, Obligation } from '../core/draft.ts'
import type { Links } from '../core/flow.ts'
import type { InboxItem } from '../core/inbox.ts'
import {
  type ConcurrencyLimit,
  EVERYONE,
  type LaneRow,
  type Owner,
  type RateLimit,
  type Wanted,
} from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { Question } from '../core/question.ts'
import type { Receipt, ReceiptType } from '../core/receipt.ts'
import type { Settings } from '../core/settings.ts'
import {
  type DoneTask,
  isHeld,
  isOpen,
  isReady,
  type Lease,
  type OpenTask,
  type ProgressEntry,
  type QueuedTask,
  type Task,
  type TaskSpec,
} from '../core/task.ts'
import { isParked } from '../core/transitions.ts'
import type { Tenant, World } from '../core/world.ts'
import type { Loaded } from '../store/store.ts'
import type { Random } from '../util/random.ts'
import { BatchFlow } from './batch-flow.ts'
import { BatchLanes } from './batch-lanes.ts'
import type { BatchUsage } from './events.ts'
import type { TenantLanes } from './lane-directory.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

interface Setting {
  readonly settings: Settings
  readonly random: Random
  readonly lanes: TenantLanes
}

/** One tenant within a batch: the loaded rows with the decisions of the commands so far applied. */
export class TenantWorld implements World {
  readonly settings: Settings
  readonly random: Random
  readonly now: number
  readonly tenant: Mutable<Tenant>

  readonly #lanes: BatchLanes
  readonly #tasks = new Map<string, Task>()
  readonly #questions = new Map<string, Question[]>()
  readonly #keyed = new Map<string, TaskSpec>()
  readonly #owners = new Map<string, Owner>()
  readonly #receipts = new Map<number, Receipt>()
  readonly #children = new Map<string, Receipt>()
  readonly #acknowledgements = new Map<string, number>()
  readonly #relationships = new Map<PrincipalKey, Relationship>()
  readonly #items = new Map<string, InboxItem>()

  readonly #stored = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #opened = new Map<string, Obligation>()
  readonly #closed: Obligation[] = []
  readonly newSpecs = new Map<number, TaskSpec>()
  readonly newReceipts: Receipt[] = []
  readonly newProgress: ProgressEntry[] = []
  readonly newOwners = new Map<string, Owner>()
  readonly newRelationships = new Map<PrincipalKey, Relationship>()
  readonly #storedQuestions = new Set<string>()
  readonly #changedQuestions = new Map<string, Question>()
  readonly #marked = new Map<string, InboxItem>()
  readonly filed: InboxItem[] = []
  readonly flow: BatchFlow
  /** How long the leases that ended in this batch were held. */
  #leaseMs = 0

  constructor({ settings, random, lanes }: Setting, tenant: Tenant, loaded: Loaded) {
    this.settings = settings
    this.random = random
    this.now = loaded.now
    this.tenant = { ...tenant }
    this.#lanes = new BatchLanes(lanes, this.tenant, loaded.heads, this.now)
    const mine = (row: { readonly tenant: number }) => row.tenant === tenant.tenant
    for (const task of loaded.tasks) if (mine(task)) this.#know(task)
    for (const task of loaded.due) if (mine(task)) this.#know(task)
    for (const question of loaded.questions) if (mine(question)) this.#knowQuestion(question)
    for (const spec of loaded.specs) if (mine(spec)) this.#key(spec)
    for (const owner of loaded.owners) if (mine(owner)) this.#owners.set(owner.owner, owner)
    for (const head of loaded.heads) {
      if (mine(head)) for (const task of head.tasks) this.#know(task)
    }
    for (const receipt of loaded.receipts) if (mine(receipt)) this.#receipts.set(receipt.seq, receipt)
    for (const receipt of loaded.children) if (mine(receipt)) this.#follow(receipt)
    for (const row of loaded.acknowledgements) {
      if (mine(row)) this.#acknowledgements.set(`${row.seq} ${row.by}`, row.acknowledgement)
    }
    for (const row of loaded.relationships) if (mine(row)) this.#relationships.set(row.principal, row)
    for (const item of loaded.items) if (mine(item)) this.#items.set(itemKey(item.principal, item.seq), item)
    this.flow = new BatchFlow(loaded.links.filter(mine))
  }

  task(taskId: string): Task | undefined {
    return this.#tasks.get(taskId)
  }

  questions(taskId: string): readonly Question[] {
    return this.#questions.get(taskId) ?? []
  }

  keyed(owner: PrincipalKey, idempotencyKey: string): TaskSpec | undefined {
    return this.#keyed.get(keyOf(owner, idempotencyKey))
  }

  owner(owner: string): Owner {
    const known = this.newOwners.get(owner) ?? this.#owners.get(owner)
    return known ?? { tenant: this.tenant.tenant, owner, last_rank: 0, weight: 1 }
  }

  lane(
    type: string,
    capabilities: readonly string[],
    priority: number,
    owner: PrincipalKey,
    limit: ConcurrencyLimit | null = null,
    rate: RateLimit | null = null,
  ): { lane: number; pool: number } {
    return this.#lanes.place(type, capabilities, priority, owner, limit, rate)
  }

  ready(wanted: Wanted): Iterable<QueuedTask> {
    return this.#lanes.ready(wanted)
  }

  /** Whether a claim that got no task might get one that was not loaded. */
  couldGrantMore(wanted: Wanted): boolean {
    const limit = this.settings.max_concurrent_leases
    if (limit >= 0 && this.tenant.active_leases >= limit) return false
    const first = this.#lanes.ready(wanted).next()
    return first.done === true && first.value
  }

  receipt(seq: number): Receipt | undefined {
    return this.#receipts.get(seq)
  }

  child(parent: number, type: ReceiptType): Receipt | undefined {
    return this.#children.get(`${parent} ${type}`)
  }

  acknowledgement(seq: number, by: PrincipalKey): number | undefined {
    return this.#acknowledgements.get(`${seq} ${by}`)
  }

  relationship(principal: PrincipalKey): Relationship | undefined {
    return this.newRelationships.get(principal) ?? this.#relationships.get(principal)
  }

  item(principal: PrincipalKey, seq: number): InboxItem | undefined {
    const key = itemKey(principal, seq)
    const known = this.#marked.get(key) ?? this.#items.get(key)
    return known ?? this.filed.find((item) => item.seq === seq && item.principal === principal)
  }

  links(seq: number): Links | undefined {
    return this.flow.links(seq)
  }

  /** Applies a decision, so that the next command sees it. */
  apply(decision: Decision<unknown>): void {
    if (decision.spec !== null) {
      this.#key(decision.spec)
      this.newSpecs.set(decision.spec.seq, decision.spec)
    }
    for (const task of decision.tasks) this.#change(task)
    for (const obligation of decision.opened) this.#opened.set(obligationKey(obligation), obligation)
    for (const obligation of decision.closed) {
      // An obligation that is opened and closed in one batch is not written.
      if (!this.#opened.delete(obligationKey(obligation))) this.#closed.push(obligation)
    }
    if (decision.receipts.length > 0) {
      this.newReceipts.push(...decision.receipts)
      this.tenant.seq += decision.receipts.length
    }
    for (const receipt of decision.receipts) {
      this.tenant.receipt_bytes += Buffer.byteLength(receipt.body)
      if (receipt.schedule_id !== null) this.#follow(receipt)
      if (receipt.receipt_type !== 'receipt.acknowledged') continue
      for (const parent of receipt.parents)
        this.#acknowledgements.set(`${parent} ${receipt.from}`, receipt.seq)
    }
    for (const question of decision.questions) this.#ask(question)
    if (decision.progress !== null) this.newProgress.push(decision.progress)
    if (decision.relationship !== null) {
      this.newRelationships.set(decision.relationship.principal, decision.relationship)
    }
    if (decision.filed.length > 0) this.filed.push(...decision.filed)
    for (const item of decision.marked) this.#marked.set(itemKey(item.principal, item.seq), item)
    if (decision.flow !== null) this.flow.apply(decision.flow)
  }

  /** Lanes that the batch has changed, once `changes` has been called. */
  get changedLanes(): readonly LaneRow[] {
    return this.#lanes.changed
  }

  /** How many tasks became ready and still are, by lane. */
  get becameReady(): ReadonlyMap<number, number> {
    return this.#lanes.becameReady
  }

  usage(): BatchUsage {
    let receipt_bytes = 0
    for (const { body } of this.newReceipts) receipt_bytes += Buffer.byteLength(body)
    return {
      tenant: this.tenant.tenant,
      tasks: this.newSpecs.size,
      lease_ms: this.#leaseMs,
      receipt_bytes,
    }
  }

  changes() {
    const inserted: OpenTask[] = []
    const updated: OpenTask[] = []
    const finished: DoneTask[] = []
    const repaired: DoneTask[] = []
    const parked: OpenTask[] = []
    for (const id of this.#changed) {
      const task = this.#tasks.get(id)
      if (task === undefined) continue
      if (isParked(task.status) && isOpen(task)) parked.push(task)
      if (!isOpen(task)) (this.#stored.has(`done ${id}`) ? repaired : finished).push(task)
      else (this.#stored.has(id) ? updated : inserted).push(task)
    }
    return {
      inserted,
      updated,
      finished,
      repaired,
      /** The inserted and updated tasks that wait for an answer. */
      parked,
      opened: [...this.#opened.values()],
      closed: this.#closed,
      asked: this.#changedRows((name) => !this.#storedQuestions.has(name)),
      decided: this.#changedRows((name) => this.#storedQuestions.has(name)),
      ...this.#lanes.changes(),
      marked: [...this.#marked.values()],
    }
  }

  #know(task: Task): void {
    if (this.#tasks.has(task.task_id)) return
    this.#tasks.set(task.task_id, task)
    this.#stored.add(isOpen(task) ? task.task_id : `done ${task.task_id}`)
  }

  #knowQuestion(question: Question): void {
    const name = questionName(question)
    if (this.#storedQuestions.has(name)) return
    this.#storedQuestions.add(name)
    this.#place(question)
  }

  #ask(question: Question): void {
    this.#changedQuestions.set(questionName(question), question)
    this.#place(question)
  }

  /** Questions are numbered from 1 without gaps. */
  #place(question: Question): void {
    const questions = this.#questions.get(question.task_id) ?? []
    questions[question.n - 1] = question
    this.#questions.set(question.task_id, questions)
  }

  #changedRows(fits: (name: string) => boolean): Question[] {
    if (this.#changedQuestions.size === 0) return []
    return [...this.#changedQuestions].flatMap(([name, question]) => (fits(name) ? [question] : []))
  }

  #follow(receipt: Receipt): void {
    for (const parent of receipt.parents) this.#children.set(`${parent} ${receipt.receipt_type}`, receipt)
  }

  #key(spec: TaskSpec): void {
    if (spec.idempotency_key !== null) this.#keyed.set(keyOf(spec.owner, spec.idempotency_key), spec)
  }

  #change(task: Task): void {
    const before = this.#tasks.get(task.task_id)
    this.#tasks.set(task.task_id, task)
    this.#changed.add(task.task_id)
    this.#count(before, task)
    if (before === undefined && isOpen(task)) this.#taken(task)
    if (before !== undefined && isReady(before)) this.#lanes.leave(before)
    if (isReady(task)) this.#lanes.enter(task)
  }

  #count(before: Task | undefined, after: Task): void {
    const { tenant } = this
    const wasOpen = before !== undefined && isOpen(before)
    if (isOpen(after) !== wasOpen) {
      const difference = wasOpen ? -1 : 1
      tenant.open_tasks += difference
      this.#lanes.count(after, difference)
    }
    tenant.ended_tasks += Number(!isOpen(after)) - Number(before !== undefined && !wasOpen)
    const wasHeld = before !== undefined && isHeld(before)
    if (wasHeld && !isHeld(after)) this.#leaseMs += heldMs(before.lease, this.now)
    tenant.active_leases += Number(isHeld(after)) - Number(wasHeld)
    if (isHeld(after) !== wasHeld) this.#lanes.hold(after, wasHeld ? -1 : 1)
    if (isHeld(after) && !wasHeld) tenant.clock = Math.max(tenant.clock, after.rank)
  }

  /** A new task gets the next turn of its owner. */
  #taken(task: Task): void {
    const queue = this.owner(this.settings.claim_order === 'fifo' ? EVERYONE : task.owner)
    this.newOwners.set(queue.owner, { ...queue, last_rank: task.rank })
  }
}

/** A lease ends when it expires, even if that is noticed later. */
function heldMs({ acquired_at, expires_at }: Lease, now: number): number {
  return Math.max(0, Math.min(now, expires_at) - acquired_at)
}

function questionName({ task_id, n }: Question): string {
  return `${task_id} ${n}`
}

function obligationKey(obligation: Obligation): string {
  return `${obligation.seq} ${obligation.principal}`
}

function itemKey(principal: PrincipalKey, seq: number): string {
  return `${seq} ${principal}`
}

/** NUL is refused in every text, so two different pairs never give one key. */
function keyOf(owner: PrincipalKey, idempotencyKey: string): string {
  return `${owner}\0${idempotencyKey}`
}
