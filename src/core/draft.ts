import type { Relationship } from './command.ts'
import type { Fault } from './errors.ts'
import type { FlowChanges } from './flow.ts'
import { FlowDraft } from './flow-draft.ts'
import { asksForAttention, type InboxItem, newItem } from './inbox.ts'
import type { CanonicalJson } from './json/json.ts'
import type { PrincipalKey } from './principal.ts'
import type { Question } from './question.ts'
import { checkReceipt, type Receipt, type ReceiptType, type Statement } from './receipt.ts'
import type { ProgressEntry, Task, TaskCore, TaskSpec } from './task.ts'
import type { World } from './world.ts'

/** A principal is owed the receipt that closes receipt `seq`. */
export interface Obligation {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly seq: number
  readonly task_id: string
}

/** What one command changes, and the response for its caller. */
export interface Decision<Answer> {
  readonly answer: Answer | Fault
  readonly tasks: readonly Task[]
  readonly spec: TaskSpec | null
  readonly receipts: readonly Receipt[]
  readonly opened: readonly Obligation[]
  readonly closed: readonly Obligation[]
  readonly progress: ProgressEntry | null
  /** The current state of questions that were asked or decided. */
  readonly questions: readonly Question[]
  readonly relationship: Relationship | null
  /** Receipts that come into inboxes. */
  readonly filed: readonly InboxItem[]
  /** Items of inboxes whose marks have changed. */
  readonly marked: readonly InboxItem[]
  /** Changes of the relations between tasks; null if there are none. */
  readonly flow: FlowChanges | null
}

interface ReceiptDraft {
  readonly type: ReceiptType
  readonly from: PrincipalKey
  readonly to: PrincipalKey
  readonly task_id?: string
  readonly lease_id?: string | null
  readonly schedule_id?: string
  readonly parents?: readonly number[]
  readonly body: CanonicalJson
  /** Whether it goes to the inbox; by its type, unless said otherwise. */
  readonly attention?: boolean
  /** False for the one terminal receipt that may name no parent: a success that is not locatable. */
  readonly closes?: boolean
}

const NONE: InboxItem[] = []
const NO_QUESTIONS: Question[] = []

/** Collects a decision. It only ever adds, so a decision that throws has changed nothing. */
export class Draft {
  readonly world: World
  #tasks: Task[] = []
  #receipts: Receipt[] = []
  #opened: Obligation[] = []
  #closed: Obligation[] = []
  #spec: TaskSpec | null = null
  #progress: ProgressEntry | null = null
  #relationship: Relationship | null = null
  // Most decisions touch neither questions nor inboxes.
  #questions: Question[] = NO_QUESTIONS
  #filed: InboxItem[] = NONE
  #marked: InboxItem[] = NONE
  #flow: FlowDraft | null = null

  constructor(world: World) {
    this.world = world
  }

  /** The seq that the next receipt will have. */
  get nextSeq(): number {
    return this.world.tenant.seq + this.#receipts.length + 1
  }

  task(task: Task): void {
    this.#tasks.push(task)
  }

  /** A task as this decision has changed it so far. */
  latest(taskId: string): Task | undefined {
    return this.#tasks.findLast((task) => task.task_id === taskId) ?? this.world.task(taskId)
  }

  spec(spec: TaskSpec): void {
    this.#spec = spec
  }

  progress(entry: ProgressEntry): void {
    this.#progress = entry
  }

  question(question: Question): void {
    if (this.#questions === NO_QUESTIONS) this.#questions = []
    this.#questions.push(question)
  }

  /** Collects changes of the relations between tasks. */
  get flow(): FlowDraft {
    this.#flow ??= new FlowDraft()
    return this.#flow
  }

  relationship(relationship: Relationship): void {
    this.#relationship = relationship
  }

  mark(item: InboxItem): void {
    if (this.#marked === NONE) this.#marked = []
    this.#marked.push(item)
  }

  /** Puts a receipt into the inbox of a principal. */
  file(principal: PrincipalKey, seq: number): void {
    if (this.#filed === NONE) this.#filed = []
    this.#filed.push(newItem(this.world.tenant.tenant, principal, seq, this.world.now))
  }

  /** Opens an obligation towards the owner of the task and the agent it is done for; by default by its assignment. */
  open(task: TaskCore, seq: number = task.seq): void {
    this.#opened.push(...obligationsOf(task, seq))
  }

  close(task: TaskCore, seq: number = task.seq): void {
    this.#closed.push(...obligationsOf(task, seq))
  }

  /** Writes a receipt and returns its seq. */
  receipt(draft: ReceiptDraft): number {
    const { tenant, now, settings } = this.world
    const seq = this.nextSeq
    const statement: Statement = {
      receipt_type: draft.type,
      from: draft.from,
      to: draft.to,
      task_id: draft.task_id ?? null,
      lease_id: draft.lease_id ?? null,
      schedule_id: draft.schedule_id ?? null,
      parents: draft.parents ?? [],
      body: draft.body,
    }
    const receipt: Receipt = {
      tenant: tenant.tenant,
      seq,
      created_at: now,
      instance: settings.instance_id,
      ...statement,
    }
    checkReceipt(receipt, seq - 1, draft.closes ?? true)
    this.#receipts.push(receipt)
    if (draft.attention ?? asksForAttention(draft.type)) this.file(draft.to, seq)
    return seq
  }

  /** Adds a receipt that another database had, and puts it into inboxes. */
  restore(receipt: Receipt, inboxes: readonly PrincipalKey[]): void {
    this.#receipts.push(receipt)
    const { tenant, seq, created_at } = receipt
    if (inboxes.length > 0) this.#filed = inboxes.map((to) => newItem(tenant, to, seq, created_at))
  }

  /** Refuses the command. Earlier drafts stay part of the decision: a refusal may come with an anomaly. */
  refuse(fault: Fault): Decision<never> {
    return this.#decision<never>(fault)
  }

  done<Answer>(answer: Answer): Decision<Answer> {
    return this.#decision<Answer>(answer)
  }

  #decision<Answer>(answer: Answer | Fault): Decision<Answer> {
    return {
      answer,
      tasks: this.#tasks,
      spec: this.#spec,
      receipts: this.#receipts,
      opened: this.#opened,
      closed: this.#closed,
      progress: this.#progress,
      questions: this.#questions,
      relationship: this.#relationship,
      filed: this.#filed,
      marked: this.#marked,
      flow: this.#flow,
    }
  }
}

/** The owner is owed, and the agent on whose behalf the owner acts, where that is another. */
function obligationsOf(task: TaskCore, seq: number): Obligation[] {
  const { tenant, task_id } = task
  const owner: Obligation = { tenant, principal: task.owner, seq, task_id }
  const onBehalf: PrincipalKey = `agent:${task.principal_ai}`
  return onBehalf === task.owner ? [owner] : [owner, { tenant, principal: onBehalf, seq, task_id }]
}
