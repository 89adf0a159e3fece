import type { Relationship } from './command.ts'
import type { Fault } from './errors.ts'
import type { CanonicalJson } from './json.ts'
import type { PrincipalKey } from './principal.ts'
import { checkReceipt, type Receipt, type ReceiptType, receiptHash, type Statement } from './receipt.ts'
import type { ProgressEntry, Task, TaskCore, TaskSpec } from './task.ts'
import type { World } from './world.ts'

/** Somebody is owed the receipt that closes receipt `seq`. */
export interface Obligation {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly seq: number
  readonly task_id: string
}

/** What one command changes, and what its caller is told. */
export interface Decision<Answer> {
  readonly answer: Answer | Fault
  readonly tasks: readonly Task[]
  readonly spec: TaskSpec | null
  readonly receipts: readonly Receipt[]
  readonly opened: readonly Obligation[]
  readonly closed: readonly Obligation[]
  readonly progress: ProgressEntry | null
  readonly relationship: Relationship | null
  readonly delivered: readonly number[]
}

interface ReceiptDraft {
  readonly type: ReceiptType
  readonly from: PrincipalKey
  readonly to: PrincipalKey
  readonly task_id?: string
  readonly lease_id?: string | null
  readonly parents?: readonly number[]
  readonly body: CanonicalJson
  /** False for the one terminal receipt that may name no parent: a success that is not locatable. */
  readonly closes?: boolean
}

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
  #delivered: readonly number[] = []

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

  spec(spec: TaskSpec): void {
    this.#spec = spec
  }

  progress(entry: ProgressEntry): void {
    this.#progress = entry
  }

  relationship(relationship: Relationship): void {
    this.#relationship = relationship
  }

  delivered(seqs: readonly number[]): void {
    this.#delivered = seqs
  }

  open(task: TaskCore): void {
    this.#opened.push(...obligationsOf(task))
  }

  close(task: TaskCore): void {
    this.#closed.push(...obligationsOf(task))
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
      schedule_id: null,
      parents: draft.parents ?? [],
      body: draft.body,
    }
    const receipt: Receipt = {
      tenant: tenant.tenant,
      seq,
      created_at: now,
      instance: settings.instance_id,
      hash: receiptHash(tenant.salt, statement),
      ...statement,
    }
    checkReceipt(receipt, seq - 1, draft.closes ?? true)
    this.#receipts.push(receipt)
    return seq
  }

  /** A refusal. What was drafted before it is kept: an anomaly may stand beside a refusal. */
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
      relationship: this.#relationship,
      delivered: this.#delivered,
    }
  }
}

/** The owner is owed, and the agent on whose behalf the owner acts, where that is another. */
function obligationsOf(task: TaskCore): Obligation[] {
  const { tenant, seq, task_id } = task
  const owner: Obligation = { tenant, principal: task.owner, seq, task_id }
  const onBehalf: PrincipalKey = `agent:${task.principal_ai}`
  return onBehalf === task.owner ? [owner] : [owner, { tenant, principal: onBehalf, seq, task_id }]
}
