import { isDeepStrictEqual } from 'node:util'
import { receiptId } from '../../src/core/ids.ts'
import { type JsonObject, parseCanonical } from '../../src/core/json/json.ts'
import { isTerminalType, type Receipt, type ReceiptType } from '../../src/core/receipt.ts'
import type { Settings } from '../../src/core/settings.ts'
import { isTerminal, type Status } from '../../src/core/transitions.ts'
import type { CompleteAnswer } from '../../src/features/leases/complete.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { AskAnswer } from '../../src/features/questions/ask.ts'
import type { DecisionAnswer } from '../../src/features/questions/decision.ts'
import type { CreateAnswer } from '../../src/features/tasks/create.ts'
import type { TaskView } from '../../src/features/tasks/shape.ts'
import type { Reads, TaskRecord } from '../../src/store/reads.ts'
import type { TenantRef } from '../../src/store/store.ts'

/** A requested task; the request may have been repeated under one key. */
export interface Request {
  readonly tenant: string
  readonly owner: string
  readonly key: string | null
  /** Stored in the payload, so that the task is found even without a response. */
  readonly tag: string
  readonly input: JsonObject
  taskId: string | null
  /** Whether an attempt may have been committed without a response. */
  isOpen: boolean
}

export interface LeaseRecord {
  readonly tenant: string
  readonly taskId: string
  readonly leaseId: string
  readonly holder: string
  readonly fence: number
  readonly grantedAt: number
  /** The end of the lease lies between these times, which differ only after a renewal without a response. */
  endsFrom: number
  endsTo: number
}

interface Completion {
  readonly lease: LeaseRecord
  readonly result: JsonObject
  receiptId: string
  isOpen: boolean
}

/** The responses that the callers received, and whether they are consistent. */
export class History {
  readonly requests: Request[] = []
  readonly leases = new Map<string, LeaseRecord>()
  readonly violations: string[] = []
  readonly #newest = new Map<string, LeaseRecord>()
  readonly #completions = new Map<string, Completion>()
  readonly #canceled = new Set<string>()
  readonly #ended = new Map<string, Pick<TaskView, 'status' | 'result'>>()
  readonly #questions = new Map<string, LeaseRecord>()
  readonly #decisions = new Map<string, DecisionAnswer>()
  readonly #counts = new Map<string, { attempt: number; expiries: number }>()

  violation(text: string): void {
    this.violations.push(text)
  }

  created(request: Request, answer: CreateAnswer): void {
    if (request.taskId !== null && request.taskId !== answer.task_id) {
      this.violation(`${request.tag} became two tasks: ${request.taskId} and ${answer.task_id}`)
    }
    if (answer.is_duplicate && request.taskId === null && !request.isOpen) {
      this.violation(`${request.tag} is a duplicate, although every attempt was said to have changed nothing`)
    }
    if (!answer.is_duplicate && request.taskId !== null) {
      this.violation(`${request.tag} was created again as if it were new`)
    }
    request.taskId = answer.task_id
  }

  granted(tenant: string, holder: string, offer: OfferView): LeaseRecord {
    const endsAt = Date.parse(offer.expires_at)
    const lease: LeaseRecord = {
      tenant,
      taskId: offer.task_id,
      leaseId: offer.lease_id,
      holder,
      fence: offer.fence,
      grantedAt: endsAt - offer.expires_in_ms,
      endsFrom: endsAt,
      endsTo: endsAt,
    }
    if (endsAt <= lease.grantedAt) this.violation(`the lease ${lease.leaseId} ended when it began`)
    if (this.leases.has(lease.leaseId)) this.violation(`the lease ${lease.leaseId} was given out twice`)
    this.leases.set(lease.leaseId, lease)
    this.#checkTurn(lease)
    return lease
  }

  /** Responses may arrive out of order, so fences are compared by the time of the grant. */
  #checkTurn(lease: LeaseRecord): void {
    const before = this.#newest.get(lease.taskId)
    if (before === undefined || before.fence < lease.fence) this.#newest.set(lease.taskId, lease)
    if (before === undefined) return
    const [first, second] = before.fence < lease.fence ? [before, lease] : [lease, before]
    if (first.fence === second.fence)
      this.violation(`two leases of ${lease.taskId} have fence ${lease.fence}`)
    if (first.grantedAt > second.grantedAt) this.violation(`the fence of ${lease.taskId} fell`)
  }

  extended(lease: LeaseRecord, endsAt: number): void {
    lease.endsFrom = endsAt
    lease.endsTo = endsAt
  }

  perhapsExtended(lease: LeaseRecord, from: number, to: number): void {
    lease.endsFrom = Math.min(lease.endsFrom, from)
    lease.endsTo = Math.max(lease.endsTo, to)
  }

  completed(lease: LeaseRecord, result: JsonObject, answer: CompleteAnswer): void {
    const before = this.#completions.get(lease.taskId)
    if (before === undefined) {
      const { receipt_id: receiptId, obligation_open: isOpen } = answer
      this.#completions.set(lease.taskId, { lease, result, receiptId, isOpen })
      return
    }
    if (before.lease !== lease) this.violation(`${lease.taskId} was completed under two leases`)
    if (before.receiptId !== answer.receipt_id && !(before.isOpen && !answer.obligation_open)) {
      this.violation(`${lease.taskId} was completed by two receipts`)
    }
    before.receiptId = answer.receipt_id
    before.isOpen = answer.obligation_open
  }

  /** Each question belongs to one lease, and each lease asks at most one. */
  asked(lease: LeaseRecord, { task_id, n }: AskAnswer): void {
    const name = `${task_id} ${n}`
    const before = this.#questions.get(name)
    if (before !== undefined && before !== lease)
      this.violation(`question ${name} was asked under two leases`)
    this.#questions.set(name, lease)
  }

  /** A confirmed decision is final. */
  decided(answer: DecisionAnswer): void {
    const name = `${answer.task_id} ${answer.n}`
    const before = this.#decisions.get(name)
    const { state, receipt_id, decided_by, decided_at } = answer
    if (before !== undefined && (before.state !== state || before.receipt_id !== receipt_id)) {
      this.violation(`question ${name} was decided twice`)
    }
    if (
      before !== undefined &&
      !isDeepStrictEqual([decided_by, decided_at], [before.decided_by, before.decided_at])
    ) {
      this.violation(`question ${name} was decided by two`)
    }
    this.#decisions.set(name, answer)
  }

  canceled(taskId: string): void {
    if (this.#canceled.has(taskId)) this.violation(`${taskId} was canceled twice`)
    this.#canceled.add(taskId)
  }

  /** An ended task never changes, and counters never decrease. */
  saw(task: TaskView): void {
    const counts = { attempt: task.attempt, expiries: task.expiry_count }
    const before = this.#counts.get(task.task_id)
    if (before !== undefined && (before.attempt > counts.attempt || before.expiries > counts.expiries)) {
      this.violation(`${task.task_id} forgot an attempt or an expiry`)
    }
    this.#counts.set(task.task_id, counts)
    const ended = this.#ended.get(task.task_id)
    if (ended !== undefined) {
      const { status, result } = task
      const artifacts = { ...result, artifacts: null }
      if (!isDeepStrictEqual([status, artifacts], [ended.status, { ...ended.result, artifacts: null }])) {
        this.violation(`${task.task_id} ended as ${ended.status} and changed afterwards to ${status}`)
      }
    } else if (isTerminal(task.status)) {
      this.#ended.set(task.task_id, task)
    }
  }

  /** Compares the history with the final content of the store. */
  async verify(reads: Reads, tenant: TenantRef, settings: Partial<Settings>): Promise<void> {
    const receipts = await reads.receipts(tenant.tenant, { by: 'all' }, 0, 'ascending', 1_000_000)
    const lines = await reads.scan(tenant.tenant, { by: 'all' }, Number.MAX_SAFE_INTEGER, 1_000_000)
    const records = await reads.tasks(
      tenant.tenant,
      lines.map((line) => line.task_id),
    )
    const byId = new Map(records.map((record) => [record.task.task_id, record]))
    this.#verifyRequests(tenant, records)
    for (const completion of this.#completions.values()) {
      if (completion.lease.tenant === tenant.name) this.#verifyCompletion(tenant, completion, byId, receipts)
    }
    for (const record of records) this.#verifyDecisions(tenant, record)
    for (const [taskId, record] of byId) {
      if (this.#canceled.has(taskId)) this.#verifyStatus(record, 'canceled')
      const ended = this.#ended.get(taskId)
      if (ended !== undefined) this.#verifyStatus(record, ended.status)
    }
    const completed = new Set<string>()
    for (const receipt of receipts) {
      this.#verifyTime(receipt, completed.has(receipt.task_id ?? ''))
      if (receipt.receipt_type === 'task.completed') completed.add(receipt.task_id ?? '')
    }
    this.#verifyDelays(records, receipts)
    this.#verifyQuotas(receipts, settings)
  }

  /** No task is leased before its delay is over. */
  #verifyDelays(records: readonly TaskRecord[], receipts: readonly Receipt[]): void {
    const notBefore = new Map(
      records.map(({ spec }) => {
        const { delay_seconds = 0 } = parseCanonical(spec.input) as { readonly delay_seconds?: number }
        return [spec.task_id, spec.created_at + delay_seconds * 1000]
      }),
    )
    for (const { receipt_type, task_id, created_at, body, seq } of receipts) {
      if (task_id === null) continue
      if (receipt_type === 'task.accepted' && created_at < (notBefore.get(task_id) ?? 0)) {
        this.violation(`${task_id} was handed out by receipt ${seq} before its time`)
      }
      if (receipt_type === 'task.retry_scheduled') {
        const { next_eligible_at } = parseCanonical(body) as { readonly next_eligible_at: string }
        notBefore.set(task_id, Date.parse(next_eligible_at))
      }
    }
  }

  #verifyQuotas(receipts: readonly Receipt[], settings: Partial<Settings>): void {
    const { max_active_tasks = -1, max_concurrent_leases = -1 } = settings
    const open = new Set<string>()
    const held = new Set<string>()
    for (const { receipt_type, task_id, seq } of receipts) {
      if (task_id === null) continue
      if (receipt_type === 'task.assigned') open.add(task_id)
      if (receipt_type === 'task.accepted') held.add(task_id)
      if (isTerminalType(receipt_type)) open.delete(task_id)
      if (ENDS_LEASE.has(receipt_type)) held.delete(task_id)
      if (max_active_tasks >= 0 && open.size > max_active_tasks) {
        this.violation(`receipt ${seq} made it ${open.size} open tasks`)
      }
      if (max_concurrent_leases >= 0 && held.size > max_concurrent_leases) {
        this.violation(`receipt ${seq} made it ${held.size} leases`)
      }
    }
  }

  #verifyRequests(tenant: TenantRef, records: readonly TaskRecord[]): void {
    const byTag = new Map<string, TaskRecord[]>()
    for (const record of records) {
      const tag = tagOf(record)
      byTag.set(tag, [...(byTag.get(tag) ?? []), record])
    }
    for (const request of this.requests) {
      if (request.tenant !== tenant.name) continue
      const found = byTag.get(request.tag) ?? []
      byTag.delete(request.tag)
      if (found.length > 1) this.violation(`${request.tag} exists ${found.length} times`)
      if (request.taskId !== null && found[0]?.task.task_id !== request.taskId) {
        this.violation(`${request.tag} was acknowledged as ${request.taskId} and is not there`)
      }
      if (request.taskId === null && !request.isOpen && found.length > 0) {
        this.violation(`${request.tag} exists, although every attempt was said to have changed nothing`)
      }
    }
    for (const tag of byTag.keys()) this.violation(`${tag} was never requested`)
  }

  #verifyCompletion(
    tenant: TenantRef,
    { lease, result, receiptId: id, isOpen }: Completion,
    byId: ReadonlyMap<string, TaskRecord>,
    receipts: readonly Receipt[],
  ): void {
    const task = byId.get(lease.taskId)?.task
    if (task?.status !== 'succeeded') {
      this.violation(`the completion of ${lease.taskId} was acknowledged, and it is ${task?.status}`)
      return
    }
    const { outcome } = task
    if (task.lease?.lease_id !== lease.leaseId) this.violation(`${lease.taskId} ended under another lease`)
    if (!isDeepStrictEqual(outcome.result && parseCanonical(outcome.result), result)) {
      this.violation(`${lease.taskId} has another result than was acknowledged`)
    }
    if (!isOpen && outcome.obligation_open) this.violation(`${lease.taskId} is owed after it was closed`)
    if (!receipts.some((receipt) => receiptId(tenant.salt, receipt.seq) === id)) {
      this.violation(`the receipt of the completion of ${lease.taskId} is not there`)
    }
  }

  #verifyDecisions(tenant: TenantRef, { task, questions }: TaskRecord): void {
    for (const { n, state, decided_by, decided_seq, lease_id } of questions) {
      const name = `${task.task_id} ${n}`
      const lease = this.#questions.get(name)
      if (lease !== undefined && lease.leaseId !== lease_id) {
        this.violation(`question ${name} stands under another lease than was acknowledged`)
      }
      const confirmed = this.#decisions.get(name)
      if (confirmed === undefined) continue
      const by = `${confirmed.decided_by.kind}:${confirmed.decided_by.id}`
      const receipt = decided_seq === null ? '' : receiptId(tenant.salt, decided_seq)
      if (confirmed.state !== state || by !== decided_by || confirmed.receipt_id !== receipt) {
        this.violation(`question ${name} was ${confirmed.state} by ${by}, and is ${state} by ${decided_by}`)
      }
    }
    for (const name of [...this.#decisions.keys(), ...this.#questions.keys()]) {
      const [taskId, n] = name.split(' ')
      if (taskId === task.task_id && questions.length < Number(n)) {
        this.violation(`question ${name} was acknowledged and is not there`)
      }
    }
  }

  #verifyStatus({ task }: TaskRecord, status: Status): void {
    if (task.status !== status) this.violation(`${task.task_id} was ${status} and is ${task.status}`)
  }

  /** A lease acts before its end and expires after it; evidence may come later. */
  #verifyTime(receipt: Receipt, isRepair: boolean): void {
    const lease = this.leases.get(receipt.lease_id ?? '')
    if (lease === undefined) return
    const name = `${receipt.receipt_type} of ${lease.taskId} under fence ${lease.fence}`
    if (ACTS.has(receipt.receipt_type) && receipt.from === lease.holder) {
      if (receipt.created_at >= lease.endsTo && !isRepair) this.violation(`${name} came after its end`)
    }
    if (receipt.receipt_type === 'lease.expired' && receipt.created_at < lease.endsFrom) {
      this.violation(`${name} came before its end`)
    }
    if (receipt.task_id !== lease.taskId) this.violation(`${name} is about another task`)
  }
}

const ACTS: ReadonlySet<ReceiptType> = new Set([
  'task.started',
  'task.progress',
  'task.completed',
  'task.failed',
  'task.retry_scheduled',
  'lease.released',
  'question.asked',
])

const ENDS_LEASE: ReadonlySet<ReceiptType> = new Set([
  'lease.expired',
  'lease.released',
  'question.asked',
  'task.retry_scheduled',
  'task.completed',
  'task.failed',
  'task.canceled',
])

function tagOf({ spec }: TaskRecord): string {
  const input = parseCanonical(spec.input) as { readonly payload: { readonly tag: string } }
  return input.payload.tag
}
