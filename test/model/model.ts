import type { ErrorCode } from '../../src/core/errors.ts'
import type { Json, JsonObject } from '../../src/core/json/json.ts'
import type { QuestionKind, QuestionState } from '../../src/core/question.ts'
import type { ReceiptType } from '../../src/core/receipt.ts'
import type { Settings } from '../../src/core/settings.ts'
import type { Status } from '../../src/core/transitions.ts'

/** An expected receipt of a task. Ids and seqs come from the gate and are filled in when they are seen. */
export interface ModelReceipt {
  readonly type: ReceiptType
  readonly from: string
  readonly to: string
  readonly lease: ModelLease | null
  readonly parents: readonly ModelReceipt[]
  /** The members of the body that are compared. */
  readonly body: JsonObject
  readonly task: ModelTask
  seq: number
}

export interface ModelLease {
  id: string
  readonly task: ModelTask
  readonly holder: string
  readonly workerId: string
  readonly acquiredAt: number
  expiresAt: number
  renewals: number
}

/** A question of a task, open or decided. */
export interface ModelQuestion {
  readonly n: number
  readonly task: ModelTask
  readonly kind: QuestionKind
  /** Null for the request of a rule, which is not compared. */
  readonly request: JsonObject | null
  readonly askedBy: string
  readonly askedAt: number
  readonly expiresAt: number | null
  readonly notBefore: number | null
  readonly lease: ModelLease | null
  readonly asked: ModelReceipt
  /** The payload of the task when the question was asked. */
  readonly payload: Json
  state: QuestionState
  /** The decision, its author and time, and its receipt. */
  verdict: (Verdict & { readonly at: number; readonly receipt: ModelReceipt }) | null
}

export interface Verdict {
  readonly by: string
  /** The normalized decision, which a repetition must equal. */
  readonly said: string
}

export interface Decider {
  readonly by: string
  readonly isAdmin: boolean
}

export interface ModelTask {
  id: string
  readonly place: number
  readonly input: NewTask
  readonly rank: number
  readonly createdAt: number
  status: Status
  attempt: number
  expiries: number
  fence: number
  updatedAt: number
  startedAt: number | null
  /** `jitter`: a time in the next 5 s, to be read from the task. */
  eligibleAt: number | null | 'jitter'
  /** The current lease, or the one under which the task ended. */
  lease: ModelLease | null
  readonly progress: { readonly at: number; readonly value: JsonObject }[]
  readonly receipts: ModelReceipt[]
  readonly questions: ModelQuestion[]
  /** The payload as last approved. */
  payload: Json
  end: ModelEnd | null
}

interface ModelEnd {
  readonly at: number
  readonly result: Json
  readonly error: Json
  artifacts: Json
  proof: Json
  readonly deadLetter: boolean
  receipt: ModelReceipt
}

export interface NewTask {
  readonly owner: string
  readonly principalAi: string
  readonly type: string
  readonly capabilities: readonly string[]
  readonly priority: number
  readonly delay: number
  readonly maxAttempts: number
  readonly maxExpiries: number
  readonly backoff: number
  readonly timeout: number | null
  readonly payload: Json
  readonly key: string | null
}

export interface ClaimOptions {
  readonly capabilities: readonly string[]
  readonly accept: readonly string[] | null
  readonly prefer: readonly string[]
  readonly max: number
  readonly ttl: number
}

/** A call under a lease: its caller and worker id. */
export interface LeaseCall {
  readonly lease: ModelLease
  readonly holder: string
  readonly workerId: string
}

export interface Evidence {
  readonly artifacts: Json
  readonly proof: Json
}

/** The gate must refuse a call with this code; `why` distinguishes the cases of one code. */
export class Refusal extends Error {
  readonly code: ErrorCode
  readonly why: string

  constructor(code: ErrorCode, why = '') {
    super(code)
    this.code = code
    this.why = why
  }
}

export const GATE = 'service:asyncgate'

/** Receipts that are also filed in the inbox of principal_ai. */
const ON_BEHALF: ReadonlySet<ReceiptType> = new Set(['task.result_ready', 'question.asked'])
const MAX_JITTER = 5000
const TURN = 1000

/** A second, deliberately plain implementation of the rules of the gate. */
export class Model {
  readonly tasks: ModelTask[] = []
  readonly leases: ModelLease[] = []
  /** Receipts that a caller has seen. */
  readonly known: ModelReceipt[] = []
  /** Tasks that the last command changed. */
  readonly touched = new Set<ModelTask>()
  /** The timed events of the last command. */
  readonly woken: string[] = []
  readonly #settings: Settings
  readonly #clock: { readonly now: number }
  /** Whether every task requires approval before it can be claimed. */
  readonly isStrict: boolean
  readonly #lastRank = new Map<string, number>()
  readonly #acknowledgements = new Map<string, ModelReceipt>()
  #served = 0

  constructor(settings: Settings, clock: { readonly now: number }, isStrict = false) {
    this.isStrict = isStrict
    this.#settings = settings
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.now
  }

  get held(): ModelTask[] {
    return this.tasks.filter(isHeld)
  }

  /** The leases that are valid now. */
  get live(): ModelLease[] {
    return this.leases.filter(
      (lease) => lease.task.lease === lease && isHeld(lease.task) && this.now < lease.expiresAt,
    )
  }

  create(input: NewTask): { task: ModelTask; isDuplicate: boolean } {
    const before = this.tasks.find(
      (task) => input.key !== null && task.input.key === input.key && task.input.owner === input.owner,
    )
    if (before !== undefined) {
      if (JSON.stringify(before.input) !== JSON.stringify(input)) throw new Refusal('IDEMPOTENCY_CONFLICT')
      return { task: before, isDuplicate: true }
    }
    const quota = this.#settings.max_active_tasks
    if (quota >= 0 && this.tasks.filter(isOpen).length >= quota) throw new Refusal('QUOTA_EXCEEDED')

    const queue = this.#settings.claim_order === 'fifo' ? '' : input.owner
    const rank = Math.max(this.#served, this.#lastRank.get(queue) ?? 0) + TURN
    this.#lastRank.set(queue, rank)
    const task: ModelTask = {
      id: '',
      place: this.tasks.length,
      input,
      rank,
      createdAt: this.now,
      status: 'queued',
      attempt: 0,
      expiries: 0,
      fence: 0,
      updatedAt: this.now,
      startedAt: null,
      eligibleAt: input.delay > 0 ? this.now + input.delay * 1000 : null,
      lease: null,
      progress: [],
      receipts: [],
      questions: [],
      payload: input.payload,
      end: null,
    }
    this.tasks.push(task)
    this.known.push(this.#write(task, 'task.assigned', GATE, { parents: [] }))
    if (this.isStrict) {
      const notBefore = typeof task.eligibleAt === 'number' ? task.eligibleAt : null
      this.#park(task, 'approval', { askedBy: GATE, lease: null, request: null, notBefore, seconds: null })
    }
    return { task, isDuplicate: false }
  }

  /** The tasks that a claim gets, in order, without those in `taken`. */
  offers(options: ClaimOptions, taken: readonly ModelTask[] = []): ModelTask[] {
    const quota = this.#settings.max_concurrent_leases
    const held = this.held.length + taken.length
    const free = quota < 0 ? options.max : Math.min(options.max, Math.max(0, quota - held))
    const prefers = (task: ModelTask) => options.prefer.includes(task.input.type)
    return this.tasks
      .filter((task) => task.status === 'queued' && task.eligibleAt === null && !taken.includes(task))
      .filter((task) => task.input.capabilities.every((name) => options.capabilities.includes(name)))
      .filter((task) => options.accept === null || options.accept.includes(task.input.type))
      .sort(
        (a, b) =>
          Number(prefers(b)) - Number(prefers(a)) ||
          b.input.priority - a.input.priority ||
          a.rank - b.rank ||
          a.place - b.place,
      )
      .slice(0, free)
  }

  lend(task: ModelTask, holder: string, workerId: string, ttl: number): ModelLease {
    const expiresAt = Math.min(this.now + ttl * 1000, this.#lastMoment(task, this.now))
    const lease = { id: '', task, holder, workerId, acquiredAt: this.now, expiresAt, renewals: 0 }
    this.leases.push(lease)
    this.#served = Math.max(this.#served, task.rank)
    task.lease = lease
    task.fence++
    task.startedAt = null
    this.#set(task, 'leased')
    this.#write(task, 'task.accepted', holder, { lease })
    return lease
  }

  start(call: LeaseCall): { startedAt: number; again: boolean } {
    const { task } = this.#held(call)
    const again = task.status === 'running'
    this.#begin(call)
    return { startedAt: task.startedAt ?? Number.NaN, again }
  }

  #begin({ lease, holder }: LeaseCall): void {
    const { task } = lease
    if (task.status === 'running') return
    task.startedAt = this.now
    this.#set(task, 'running')
    this.#write(task, 'task.started', holder, { lease })
  }

  renew(call: LeaseCall, seconds: number): { expiresAt: number; left: number } {
    const lease = this.#held(call)
    this.#extend(lease, seconds)
    return { expiresAt: lease.expiresAt, left: this.#settings.max_lease_renewals - lease.renewals }
  }

  #extend(lease: ModelLease, seconds: number): void {
    const limit = this.#settings.max_lease_renewals
    if (lease.renewals >= limit) {
      if (lease.renewals === limit) {
        lease.renewals++
        this.#complain(lease.task, 'excessive_renewals')
        throw new Refusal('LEASE_RENEWAL_LIMIT_EXCEEDED', 'first')
      }
      throw new Refusal('LEASE_RENEWAL_LIMIT_EXCEEDED', 'again')
    }
    const last = this.#lastMoment(lease.task, lease.acquiredAt)
    if (lease.expiresAt >= last) throw new Refusal('LEASE_LIFETIME_EXCEEDED')
    lease.expiresAt = Math.min(Math.max(this.now + seconds * 1000, lease.expiresAt), last)
    lease.renewals++
    this.#set(lease.task, lease.task.status)
  }

  progress(call: LeaseCall, value: JsonObject, seconds: number | null): { expiresAt: number } {
    const lease = this.#held(call)
    if (seconds !== null) this.#extend(lease, seconds)
    this.#begin(call)
    const { task } = lease
    task.progress.push({ at: this.now, value })
    this.touched.add(task)
    if (this.#settings.progress_receipts) this.#write(task, 'task.progress', call.holder, { lease })
    return { expiresAt: lease.expiresAt }
  }

  release(call: LeaseCall): void {
    const lease = this.#held(call)
    this.#write(lease.task, 'lease.released', call.holder, { lease })
    this.#requeue(lease.task, null)
  }

  complete(
    call: LeaseCall,
    result: Json,
    evidence: Evidence,
  ): { receipt: ModelReceipt; open: boolean; how: string } {
    const { task } = call.lease
    const located = evidence.artifacts !== null || evidence.proof !== null
    if (task.status === 'succeeded' && task.end !== null)
      return this.#completeAgain(call, task.end, result, evidence)

    const lease = this.#held(call)
    if (!located && this.#settings.locatability === 'strict') throw new Refusal('LOCATABILITY_REQUIRED')
    const receipt = this.#write(task, 'task.completed', call.holder, {
      lease,
      ...(!located && { parents: [] }),
      body: { result_payload: result, artifacts: evidence.artifacts, delivery_proof: evidence.proof },
    })
    this.#finish(task, 'succeeded', receipt, { result, error: null, deadLetter: false, ...evidence })
    if (!located) this.#complain(task, 'locatability_missing', receipt)
    this.known.push(receipt)
    return { receipt, open: !located, how: located ? 'closed' : 'open' }
  }

  #completeAgain(call: LeaseCall, end: ModelEnd, result: Json, evidence: Evidence) {
    const { task } = call.lease
    this.#checkSame(call)
    if (end.result !== result) throw new Refusal('RESULT_CONFLICT', 'result')
    const located = evidence.artifacts !== null || evidence.proof !== null
    const open = end.receipt.parents.length === 0
    if (located && open) {
      end.receipt = this.#write(task, 'task.completed', call.holder, { lease: call.lease })
      end.artifacts = evidence.artifacts
      end.proof = evidence.proof
      this.known.push(end.receipt)
      return { receipt: end.receipt, open: false, how: 'repaired' }
    }
    const same =
      JSON.stringify([end.artifacts, end.proof]) === JSON.stringify([evidence.artifacts, evidence.proof])
    if (located && !same) throw new Refusal('RESULT_CONFLICT', 'evidence')
    return { receipt: end.receipt, open, how: open ? 'again, open' : 'again' }
  }

  fail(call: LeaseCall, error: JsonObject, retryable: boolean, after: number | null) {
    const { task } = call.lease
    const isSaidAgain = JSON.stringify(task.end?.error) === JSON.stringify(error)
    if (task.status === 'failed' && task.end !== null && isSame(task, call) && isSaidAgain) {
      return { requeuedAt: null, receipt: task.end.receipt, how: 'again' }
    }
    this.#held(call)
    return this.#failed(task, call.holder, error, retryable, after)
  }

  #failed(task: ModelTask, from: string, error: JsonObject, retryable: boolean, after: number | null) {
    if (retryable && task.attempt + 1 < task.input.maxAttempts) {
      task.attempt++
      const doubled = task.input.backoff * 2 ** (task.attempt - 1)
      const seconds = after ?? Math.min(doubled, this.#settings.max_retry_backoff_seconds)
      const requeuedAt = this.now + seconds * 1000
      const receipt = this.#write(task, 'task.retry_scheduled', from, {
        lease: task.lease,
        body: { attempt: task.attempt, error, next_eligible_at: new Date(requeuedAt).toISOString() },
      })
      this.#requeue(task, seconds > 0 ? requeuedAt : null)
      return { requeuedAt, receipt, how: 'requeued' }
    }
    if (retryable) this.#escalate(task, 'max_retries_exceeded')
    const receipt = this.#write(task, 'task.failed', from, { lease: task.lease, body: { error } })
    this.#finish(task, 'failed', receipt, { error, deadLetter: retryable })
    return { requeuedAt: null, receipt, how: retryable ? 'gave up' : 'final' }
  }

  ask(
    call: LeaseCall,
    kind: QuestionKind,
    request: JsonObject,
    seconds: number | null,
  ): { question: ModelQuestion; how: string } {
    const before = call.lease.task.questions.find(
      (question) =>
        question.lease === call.lease &&
        question.askedBy === call.holder &&
        question.kind === kind &&
        JSON.stringify(question.request) === JSON.stringify(request),
    )
    if (before !== undefined) return { question: before, how: 'again' }
    const lease = this.#held(call)
    const how = { askedBy: call.holder, lease, request, notBefore: null, seconds }
    return { question: this.#park(lease.task, kind, how), how: kind }
  }

  #park(
    task: ModelTask,
    kind: QuestionKind,
    how: Pick<ModelQuestion, 'askedBy' | 'lease' | 'request' | 'notBefore'> & { seconds: number | null },
  ): ModelQuestion {
    const { askedBy, lease, request, notBefore, seconds } = how
    const n = task.questions.length + 1
    const expiresAt = seconds === null ? null : this.now + seconds * 1000
    const asked = this.#write(task, 'question.asked', askedBy, { lease, body: { kind, n } })
    const question: ModelQuestion = {
      ...{
        n,
        task,
        kind,
        request,
        askedBy,
        askedAt: this.now,
        expiresAt,
        notBefore,
        lease,
        asked,
        payload: task.payload,
      },
      state: 'open',
      verdict: null,
    }
    task.questions.push(question)
    task.lease = null
    task.startedAt = null
    task.eligibleAt = null
    this.#set(task, kind === 'approval' ? 'pending_approval' : 'input_required')
    return question
  }

  decide(
    task: ModelTask,
    n: number,
    decision: 'approve' | 'deny' | 'answer',
    { by, isAdmin }: Decider,
    payload: Json | undefined,
  ): { question: ModelQuestion; how: string } {
    const isPerson = by.startsWith('human:')
    if (decision !== 'answer' && !isAdmin && !isPerson) throw new Refusal('FORBIDDEN')
    const question = task.questions.find((each) => each.n === n)
    if (question === undefined) throw new Refusal('QUESTION_NOT_FOUND')
    if ((decision === 'answer') !== (question.kind === 'input')) throw new Refusal('INVALID_STATE_TRANSITION')
    const onBehalf = `agent:${task.input.principalAi}`
    const isOwn = by === `agent:${task.input.owner}` || by === onBehalf
    if (decision === 'answer' && !isAdmin && !isOwn) throw new Refusal('FORBIDDEN')
    const edited = isEdit(question, payload) ? payload : undefined
    const verdict = { by, said: JSON.stringify([decision, edited ?? null]) }
    if (question.verdict !== null) {
      const isSaidAgain = question.verdict.by === by && question.verdict.said === verdict.said
      if (isSaidAgain) return { question, how: 'again' }
      throw new Refusal('ALREADY_DECIDED', question.state)
    }
    if (question.expiresAt !== null && question.expiresAt <= this.now) {
      this.#expireQuestion(question)
      throw new Refusal('ALREADY_DECIDED', 'late')
    }
    this.#settle(question, STATES[decision], verdict)
    if (decision === 'deny') {
      const receipt = this.#write(task, 'task.canceled', by, {})
      const error = { code: 'APPROVAL_DENIED', message: 'no' }
      this.#finish(task, 'canceled', receipt, { error, deadLetter: false })
      return { question, how: 'deny' }
    }
    if (edited !== undefined) task.payload = edited
    const { notBefore } = question
    this.#requeue(task, notBefore !== null && notBefore > this.now ? notBefore : null)
    return { question, how: edited === undefined ? decision : 'approve with another payload' }
  }

  #settle(question: ModelQuestion, state: QuestionState, verdict: Verdict): void {
    const { task, kind, n, asked } = question
    const [assigned] = task.receipts
    const receipt = this.#write(task, 'question.answered', verdict.by, {
      parents: assigned === undefined ? [asked] : [assigned, asked],
      body: { decision: state, kind, n },
    })
    question.state = state
    question.verdict = { ...verdict, at: this.now, receipt }
  }

  #expireQuestion(question: ModelQuestion): string {
    const { task, kind } = question
    this.#settle(question, 'expired', { by: GATE, said: '' })
    if (kind === 'approval') {
      const error = { code: 'APPROVAL_EXPIRED', message: 'The approval expired.' }
      this.#finish(task, 'canceled', this.#write(task, 'task.canceled', GATE, {}), {
        error,
        deadLetter: false,
      })
    } else {
      const error = { code: 'INPUT_EXPIRED', message: 'The input was not given in time.' }
      const receipt = this.#write(task, 'task.failed', GATE, { body: { error } })
      this.#finish(task, 'failed', receipt, { error, deadLetter: false })
    }
    return `${kind} expired`
  }

  cancel(task: ModelTask, by: string, isAdmin: boolean): { ok: boolean; was: Status } {
    if (by !== `agent:${task.input.owner}` && !isAdmin) throw new Refusal('FORBIDDEN')
    const was = task.status
    if (!isOpen(task)) return { ok: false, was }
    const question = openQuestion(task)
    if (question !== undefined) this.#settle(question, 'withdrawn', { by, said: '' })
    const lease = isHeld(task) ? task.lease : null
    const receipt = this.#write(task, 'task.canceled', by, { lease })
    this.#finish(task, 'canceled', receipt, {
      error: { code: 'CANCELED', message: 'no need' },
      deadLetter: false,
    })
    return { ok: true, was }
  }

  acknowledge(receipt: ModelReceipt, by: string): { receipt: ModelReceipt; again: boolean } {
    const { principalAi } = receipt.task.input
    const isOnBehalf = by === `agent:${principalAi}` && ON_BEHALF.has(receipt.type)
    if (receipt.to !== by && !isOnBehalf) throw new Refusal('FORBIDDEN')
    const key = `${receipt.seq} ${by}`
    const before = this.#acknowledgements.get(key)
    if (before !== undefined) return { receipt: before, again: true }
    const written = this.#write(receipt.task, 'receipt.acknowledged', by, { to: GATE, parents: [receipt] })
    this.#acknowledgements.set(key, written)
    return { receipt: written, again: false }
  }

  /** Wakes every task that is due. */
  wakeDue(): number {
    const due = this.tasks.filter((task) => {
      const wakeAt = this.wakeAt(task)
      return wakeAt !== null && wakeAt <= this.now
    })
    for (const task of due) this.woken.push(this.#wake(task))
    return due.length
  }

  wakeAt(task: ModelTask): number | null {
    if (isHeld(task)) return task.lease?.expiresAt ?? null
    if (task.status === 'queued' && typeof task.eligibleAt === 'number') return task.eligibleAt
    return openQuestion(task)?.expiresAt ?? null
  }

  #wake(task: ModelTask): string {
    this.touched.add(task)
    const question = openQuestion(task)
    if (question !== undefined) return this.#expireQuestion(question)
    const { lease } = task
    if (task.status === 'queued' || lease === null) {
      task.eligibleAt = null
      return 'due'
    }
    const { timeout } = task.input
    // A lease that ends at the timeout is a failure; one that ended before is an expiry, no matter when it is detected.
    if (timeout !== null && lease.expiresAt === lease.acquiredAt + timeout * 1000) {
      const error = { code: 'EXECUTION_TIMEOUT', message: `The work did not end within ${timeout} s.` }
      return `timeout, ${this.#failed(task, GATE, error, true, null).how}`
    }
    return this.#expire(task, lease)
  }

  #expire(task: ModelTask, lease: ModelLease): string {
    task.expiries++
    const isLast = task.expiries >= task.input.maxExpiries
    this.#write(task, 'lease.expired', GATE, {
      lease,
      body: { attempt: task.attempt, expiry_count: task.expiries, requeued: !isLast },
    })
    this.#escalate(task, isLast ? 'max_retries_exceeded' : 'lease_expired')
    if (task.expiries === 4) this.#complain(task, 'repeated_lease_expiry')
    if (!isLast) {
      this.#requeue(task, 'jitter')
      return 'expired'
    }
    const error = { code: 'LEASE_EXPIRY_LIMIT', message: `The lease expired ${task.expiries} times.` }
    const receipt = this.#write(task, 'task.failed', GATE, { lease, body: { error } })
    this.#finish(task, 'failed', receipt, { error, deadLetter: true })
    return 'expired too often'
  }

  #requeue(task: ModelTask, eligibleAt: ModelTask['eligibleAt']): void {
    task.lease = null
    task.startedAt = null
    task.eligibleAt = eligibleAt
    this.#set(task, 'queued')
  }

  #finish(
    task: ModelTask,
    status: Status,
    receipt: ModelReceipt,
    how: Partial<ModelEnd> & { readonly error: Json; readonly deadLetter: boolean },
  ): void {
    task.end = { result: null, artifacts: null, proof: null, ...how, at: this.now, receipt }
    task.eligibleAt = null
    this.#set(task, status)
    this.known.push(this.#write(task, 'task.result_ready', GATE, { body: { status } }))
  }

  #escalate(task: ModelTask, reason: string): void {
    if (!this.#settings.escalation_enabled) return
    const to = this.#settings.escalation_target ?? `agent:${task.input.owner}`
    this.#write(task, 'task.escalated', GATE, { to, lease: task.lease, body: { escalation_reason: reason } })
  }

  #complain(task: ModelTask, kind: string, parent?: ModelReceipt): void {
    this.#write(task, 'system.anomaly', GATE, { ...(parent && { parents: [parent] }), body: { kind } })
  }

  /** Writes a receipt to the owner below its assignment by default. */
  #write(
    task: ModelTask,
    type: ReceiptType,
    from: string,
    other: Partial<Pick<ModelReceipt, 'to' | 'lease' | 'parents' | 'body'>>,
  ): ModelReceipt {
    const receipt: ModelReceipt = {
      type,
      from,
      to: other.to ?? `agent:${task.input.owner}`,
      lease: other.lease ?? null,
      parents: other.parents ?? task.receipts.slice(0, 1),
      body: other.body ?? {},
      task,
      seq: 0,
    }
    task.receipts.push(receipt)
    this.touched.add(task)
    return receipt
  }

  /** The lease, if the caller may use it now. */
  #held(call: LeaseCall): ModelLease {
    const { task } = call.lease
    if (!isHeld(task)) throw new Refusal('LEASE_INVALID_OR_EXPIRED', task.status)
    this.#checkSame(call)
    if (this.now >= call.lease.expiresAt) throw new Refusal('LEASE_INVALID_OR_EXPIRED', 'lapsed')
    return call.lease
  }

  #checkSame(call: LeaseCall): void {
    const { lease } = call
    if (lease.task.lease !== lease) throw new Refusal('LEASE_INVALID_OR_EXPIRED', 'replaced')
    if (lease.holder !== call.holder) throw new Refusal('LEASE_INVALID_OR_EXPIRED', 'not the holder')
    if (lease.workerId !== call.workerId) throw new Refusal('LEASE_INVALID_OR_EXPIRED', 'not the worker_id')
  }

  #lastMoment(task: ModelTask, acquiredAt: number): number {
    const lifetime = this.#settings.max_lease_lifetime_seconds
    return acquiredAt + Math.min(lifetime, task.input.timeout ?? lifetime) * 1000
  }

  #set(task: ModelTask, status: Status): void {
    task.status = status
    task.updatedAt = this.now
    this.touched.add(task)
  }
}

function isSame(task: ModelTask, call: LeaseCall): boolean {
  const { lease } = call
  return task.lease === lease && lease.holder === call.holder && lease.workerId === call.workerId
}

function isHeld(task: ModelTask): boolean {
  return task.status === 'leased' || task.status === 'running'
}

export function isOpen(task: ModelTask): boolean {
  return task.end === null
}

/** The open question of the task. */
export function openQuestion(task: ModelTask): ModelQuestion | undefined {
  return task.questions.find((question) => question.state === 'open')
}

const STATES = { approve: 'approved', deny: 'denied', answer: 'answered' } as const

/** Compared with the payload before the question. */
function isEdit(question: ModelQuestion, payload: Json | undefined): boolean {
  return payload !== undefined && JSON.stringify(payload) !== JSON.stringify(question.payload)
}

/** Whether a time chosen by the gate lies within the jitter. */
export function isJitter(from: number, time: number): boolean {
  return time >= from && time < from + MAX_JITTER
}
