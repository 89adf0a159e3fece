import assert from 'node:assert/strict'
import { Fault } from '../../src/core/errors.ts'
import { receiptId } from '../../src/core/ids.ts'
import { type Json, type JsonObject, parseCanonical } from '../../src/core/json/json.ts'
import {
  type Caller,
  type Principal,
  type PrincipalKey,
  parsePrincipalKey,
} from '../../src/core/principal.ts'
import type { QuestionKind } from '../../src/core/question.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { TenantRef } from '../../src/store/store.ts'
import { admin, agent, caller, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import type { Coverage } from './coverage.ts'
import {
  type ClaimOptions,
  type Decider,
  type Evidence,
  isJitter,
  isOpen,
  type LeaseCall,
  type Model,
  type ModelLease,
  type ModelQuestion,
  type ModelReceipt,
  type ModelTask,
  type NewTask,
  openQuestion,
  Refusal,
} from './model.ts'
import { claimInput, createInput, expectedView, iso, leaseInput, pick } from './shapes.ts'
import type { System } from './system.ts'

const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000'

/** Applies each command to the gate and to the model, and requires equal outcomes. */
export class Driver {
  readonly model: Model
  readonly system: System
  readonly #coverage: Coverage
  readonly #jitters: number[]
  readonly #ids = new Set<string>()
  #tenant: TenantRef | undefined

  constructor(model: Model, system: System, coverage: Coverage, jitters: number[]) {
    this.model = model
    this.system = system
    this.#coverage = coverage
    this.#jitters = jitters
  }

  async create(input: NewTask): Promise<ModelTask | undefined> {
    const [task] = await this.createMany([input])
    return task
  }

  /** In one batch; the outcomes equal those of separate creates. */
  async createMany(inputs: readonly NewTask[]): Promise<(ModelTask | undefined)[]> {
    const expected = inputs.map((input) => this.#predict('create', () => this.model.create(input)))
    const answers = await Promise.all(
      inputs.map((input) => settled(this.gate.createTask(this.agent(input.owner), createInput(input)))),
    )
    const tasks = expected.map((prediction, i) => {
      const answer = this.#agree(prediction, answers[i])
      if (prediction.said === undefined || answer === undefined) return undefined
      const { task, isDuplicate } = prediction.said
      this.#coverage.note('create', isDuplicate ? 'duplicate' : 'created')
      if (!isDuplicate && task.id === '') task.id = this.#newId(answer.task_id)
      return { task, isDuplicate, answer }
    })
    await this.observe()
    for (const created of tasks) {
      if (created === undefined) continue
      const { task, isDuplicate, answer } = created
      const { status } = task
      const receipt_id = await this.#receiptId(task.receipts[0])
      // The model does not include the presence of workers.
      const { live_workers, hint, ...rest } = answer
      assert.deepEqual(rest, { task_id: task.id, status, is_duplicate: isDuplicate, receipt_id })
    }
    return tasks.map((created) => created?.task)
  }

  async claim(id: string, workerId: string, options: ClaimOptions): Promise<ModelLease[]> {
    this.model.wakeDue()
    const expected = this.model.offers(options)
    const { tasks: offers } = await this.gate.leaseNext(this.worker(id), claimInput(workerId, options))
    assert.deepEqual(
      idsOf(offers),
      expected.map((task) => task.id),
      'the tasks that were handed out',
    )
    const leases = this.#lend({ id, workerId, options }, expected, offers)
    await this.observe()
    return leases
  }

  /**
   * Concurrent claims, and a cancel before them. They are served in some order, and each except the last may get fewer
   * tasks than requested, but only tasks whose turn it is.
   */
  async claimTogether(claims: readonly ModelClaim[], canceled?: ModelTask): Promise<void> {
    this.model.wakeDue()
    const cancel = canceled && this.model.cancel(canceled, 'human:root', true)
    const [canceling, ...answers] = await Promise.all([
      canceled && this.gate.cancelTask(this.admin, { task_id: canceled.id, reason: 'no need' }),
      ...claims.map(({ id, workerId, options }) =>
        this.gate.leaseNext(this.worker(id), claimInput(workerId, options)),
      ),
    ])
    assert.equal(canceling?.ok, cancel?.ok)
    const served = claims.map((claim, i) => ({ claim, offers: answers[i]?.tasks ?? [] }))
    const order = this.#orderOf(served, [])
    assert.ok(
      order !== undefined,
      `no order of the claims explains ${served.map(({ offers }) => `[${idsOf(offers)}]`)}`,
    )
    for (const { claim, offers } of order) {
      this.#lend(claim, this.model.offers(claim.options).slice(0, offers.length), offers)
    }
    await this.observe()
  }

  #orderOf(served: readonly Served[], taken: readonly ModelTask[]): Served[] | undefined {
    if (served.length === 0) return []
    for (const first of served) {
      const expected = this.model.offers(first.claim.options, taken)
      const got = expected.slice(0, first.offers.length)
      if (got.length === 0 && expected.length > 0) continue
      if (String(got.map((task) => task.id)) !== String(idsOf(first.offers))) continue
      const others = served.filter((other) => other !== first)
      const rest = this.#orderOf(others, [...taken, ...got])
      if (rest !== undefined) return [first, ...rest]
    }
    return undefined
  }

  #lend(
    { id, workerId, options }: ModelClaim,
    tasks: readonly ModelTask[],
    offers: readonly OfferView[],
  ): ModelLease[] {
    const leases = tasks.map((task) => this.model.lend(task, `worker:${id}`, workerId, options.ttl))
    this.#coverage.note('claim', this.#claimOutcome(leases, options))
    for (const [n, lease] of leases.entries()) {
      const offer = offers[n]
      assert.ok(offer !== undefined)
      lease.id = this.#newId(offer.lease_id)
      const { input, fence, attempt } = lease.task
      assert.deepEqual(
        [offer.fence, offer.attempt, offer.type, offer.payload, offer.principal_ai, offer.expires_at],
        [fence, attempt, input.type, lease.task.payload, input.principalAi, iso(lease.expiresAt)],
      )
      const { questions } = lease.task
      assert.deepEqual(
        offer.answers?.map(({ n, kind, state }) => ({ n, kind, state })),
        questions.length === 0 ? undefined : questions.map(({ n, kind, state }) => ({ n, kind, state })),
      )
      assert.equal(offer.expires_in_ms, lease.expiresAt - this.model.now)
    }
    return leases
  }

  #claimOutcome(leases: readonly ModelLease[], options: ClaimOptions): string {
    const quota = this.gate.settings.max_concurrent_leases
    if (leases.length < options.max && quota >= 0 && this.model.held.length >= quota) return 'quota reached'
    return ['nothing', 'one'][leases.length] ?? 'several'
  }

  async start(call: LeaseCall): Promise<void> {
    const expected = this.#predict('start', () => this.model.start(call))
    const answer = this.#agree(
      expected,
      await settled(this.gate.startTask(this.holder(call), leaseInput(call))),
      call,
    )
    if (expected.said !== undefined) {
      this.#coverage.note('start', expected.said.again ? 'again' : 'started')
      assert.deepEqual(answer, { ok: true, status: 'running', started_at: iso(expected.said.startedAt) })
    }
    await this.observe()
  }

  async renew(call: LeaseCall, seconds: number): Promise<void> {
    const expected = this.#predict('renew', () => this.model.renew(call, seconds))
    const input = { ...leaseInput(call), extend_by_seconds: seconds }
    const answer = this.#agree(expected, await settled(this.gate.renewLease(this.holder(call), input)), call)
    if (expected.said !== undefined) {
      this.#coverage.note('renew', 'renewed')
      const { expiresAt, left } = expected.said
      assert.deepEqual(answer, {
        ok: true,
        expires_at: iso(expiresAt),
        expires_in_ms: expiresAt - this.model.now,
        renewals_left: left,
      })
    }
    await this.observe()
  }

  async progress(call: LeaseCall, percent: number, seconds: number | null): Promise<void> {
    const progress = { percent, message: `${percent} %` }
    const expected = this.#predict('progress', () => this.model.progress(call, progress, seconds))
    const input = { ...leaseInput(call), progress, ...(seconds !== null && { extend_by_seconds: seconds }) }
    const answer = this.#agree(
      expected,
      await settled(this.gate.reportProgress(this.holder(call), input)),
      call,
    )
    if (expected.said !== undefined) {
      this.#coverage.note('progress', seconds === null ? 'noted' : 'noted and extended')
      assert.equal(answer?.expires_at, iso(expected.said.expiresAt))
    }
    await this.observe()
  }

  async release(call: LeaseCall): Promise<void> {
    const expected = this.#predict('release', () => this.model.release(call) ?? 'released')
    const answer = this.#agree(
      expected,
      await settled(this.gate.releaseLease(this.holder(call), leaseInput(call))),
      call,
    )
    if (expected.said !== undefined) {
      this.#coverage.note('release', 'released')
      assert.deepEqual(answer, { ok: true, status: 'queued' })
    }
    await this.observe()
  }

  /** `evidence` is the part of `sent` that counts: an empty list counts as none. */
  async complete(call: LeaseCall, result: Json, evidence: Evidence, sent: JsonObject): Promise<void> {
    const expected = this.#predict('complete', () => this.model.complete(call, result, evidence))
    const input = { ...leaseInput(call), result, ...sent }
    const answer = this.#agree(expected, await settled(this.gate.complete(this.holder(call), input)), call)
    await this.observe()
    if (expected.said !== undefined) {
      const { receipt, open, how } = expected.said
      this.#coverage.note('complete', how)
      const receipt_id = await this.#receiptId(receipt)
      assert.deepEqual(answer, { ok: true, receipt_id, obligation_open: open })
    }
  }

  async fail(call: LeaseCall, retryable: boolean, after: number | null): Promise<void> {
    const error = { code: 'E', message: 'it broke' }
    const expected = this.#predict('fail', () => this.model.fail(call, error, retryable, after))
    const input = {
      ...leaseInput(call),
      error,
      retryable,
      ...(after !== null && { retry_after_seconds: after }),
    }
    const answer = this.#agree(expected, await settled(this.gate.fail(this.holder(call), input)), call)
    await this.observe()
    if (expected.said !== undefined) {
      const { requeuedAt, receipt, how } = expected.said
      this.#coverage.note('fail', how)
      assert.deepEqual(answer, {
        ok: true,
        requeued: requeuedAt !== null,
        ...(requeuedAt !== null && { next_eligible_at: iso(requeuedAt) }),
        receipt_id: await this.#receiptId(receipt),
      })
    }
  }

  async ask(call: LeaseCall, kind: QuestionKind, seconds: number | null): Promise<void> {
    const request = kind === 'approval' ? { title: 'May it?' } : { message: 'Which?' }
    const expected = this.#predict('ask', () => this.model.ask(call, kind, request, seconds))
    const input = {
      ...leaseInput(call),
      kind,
      request,
      ...(seconds !== null && { expires_in_seconds: seconds }),
    }
    const answer = this.#agree(expected, await settled(this.gate.ask(this.holder(call), input)), call)
    await this.observe()
    if (expected.said === undefined) return
    const { question, how } = expected.said
    this.#coverage.note('ask', how)
    assert.deepEqual(answer, {
      ok: true,
      task_id: question.task.id,
      n: question.n,
      status: question.task.status,
      expires_at: question.expiresAt === null ? null : iso(question.expiresAt),
      receipt_id: await this.#receiptId(question.asked),
    })
  }

  async decide(
    task: ModelTask,
    n: number,
    decision: 'approve' | 'deny' | 'answer',
    decider: Decider,
    payload?: Json,
  ): Promise<void> {
    const expected = this.#predict('answer', () => this.model.decide(task, n, decision, decider, payload))
    const answer = this.#agree(expected, await settled(this.#decide(task, n, decision, decider, payload)))
    await this.observe()
    if (expected.said === undefined) return
    const { question, how } = expected.said
    this.#coverage.note('answer', how)
    await this.#compareDecision(question, answer, how === 'again')
  }

  #decide(
    { id: task_id }: ModelTask,
    n: number,
    decision: 'approve' | 'deny' | 'answer',
    { by, isAdmin }: Decider,
    payload: Json | undefined,
  ) {
    const { kind, id } = parsePrincipalKey(by as PrincipalKey)
    const who = caller(kind, id, isAdmin ? 'admin' : 'agent', this.system.tenant)
    switch (decision) {
      case 'approve':
        return this.gate.approve(who, { task_id, n, ...(payload !== undefined && { payload }) })
      case 'deny':
        return this.gate.deny(who, { task_id, n, reason: 'no' })
      case 'answer':
        return this.gate.answerQuestion(who, { task_id, n, content: 'this one' })
    }
  }

  async #compareDecision(
    { task, n, state, verdict }: ModelQuestion,
    answer: unknown,
    is_duplicate: boolean,
  ): Promise<void> {
    assert.ok(verdict !== null)
    assert.deepEqual(answer, {
      ok: true,
      task_id: task.id,
      n,
      state,
      status: task.status,
      decided_by: parsePrincipalKey(verdict.by as PrincipalKey),
      decided_at: iso(verdict.at),
      receipt_id: await this.#receiptId(verdict.receipt),
      is_duplicate,
    })
  }

  /** Approves every task that a rule holds back. */
  async admitAll(): Promise<void> {
    if (!this.model.isStrict) return
    for (const task of this.model.tasks) {
      if (openQuestion(task)?.n !== 1 || task.fence > 0) continue
      await this.decide(task, 1, 'approve', { by: 'human:root', isAdmin: true })
    }
  }

  async cancel(task: ModelTask | undefined, by: Principal, isAdmin: boolean): Promise<void> {
    const expected = this.#predict('cancel', () => {
      if (task === undefined) throw new Refusal('TASK_NOT_FOUND')
      return this.model.cancel(task, `${by.kind}:${by.id}`, isAdmin)
    })
    const who = caller(by.kind, by.id, isAdmin ? 'admin' : 'agent', this.system.tenant)
    const input = { task_id: task?.id ?? UNKNOWN_ID, reason: 'no need' }
    const answer = this.#agree(expected, await settled(this.gate.cancelTask(who, input)))
    if (expected.said !== undefined) {
      const { ok, was } = expected.said
      this.#coverage.note('cancel', ok ? was : 'ended already')
      assert.deepEqual(answer, { ok, status: task?.status })
    }
    await this.observe()
  }

  async acknowledge(receipt: ModelReceipt | undefined, by: string): Promise<void> {
    const expected = this.#predict('acknowledge', () => {
      if (receipt === undefined) throw new Refusal('RECEIPT_NOT_FOUND')
      return this.model.acknowledge(receipt, `agent:${by}`)
    })
    const receipt_id = receipt === undefined ? UNKNOWN_ID : await this.#receiptId(receipt)
    const answer = this.#agree(expected, await settled(this.gate.ackReceipt(this.agent(by), { receipt_id })))
    await this.observe()
    if (expected.said !== undefined) {
      this.#coverage.note('acknowledge', expected.said.again ? 'again' : 'acknowledged')
      assert.deepEqual(answer, { ok: true, receipt_id: await this.#receiptId(expected.said.receipt) })
    }
  }

  async sweep(): Promise<void> {
    const expected = this.model.wakeDue()
    assert.equal(await this.gate.sweep(), expected, 'the number of tasks that were due')
    await this.observe()
  }

  /** Compares every task that the last command changed, and its receipts. */
  async observe(): Promise<void> {
    for (const outcome of this.model.woken.splice(0)) this.#coverage.note('clock', outcome)
    const touched = [...this.model.touched].sort((a, b) => a.place - b.place)
    this.model.touched.clear()
    for (const task of touched) await this.#observeTask(task)
  }

  /** Compares everything, and then cancels all open tasks, after which only missing evidence may be owed. */
  async finish(): Promise<void> {
    for (const task of this.model.tasks) this.model.touched.add(task)
    await this.observe()
    await this.#compareLists()
    await this.#compareApprovals()
    const tenant = await this.tenant()
    assert.deepEqual(await checkInvariants(this.system.store, tenant), [])
    for (const task of this.model.tasks) {
      if (isOpen(task)) {
        await this.cancel(task, { kind: 'human', id: 'root' }, true)
      }
    }
    await this.#compareLists()
    assert.deepEqual(await checkInvariants(this.system.store, tenant), [])
    assert.deepEqual(this.system.errors, [])
  }

  async #compareLists(): Promise<void> {
    const { tasks } = this.model
    const { tasks: listed } = await this.gate.listTasks(this.admin, { limit: 200 })
    assert.deepEqual(
      listed.map((task) => task.task_id),
      tasks.map((task) => task.id).reverse(),
    )
    const owed = tasks.filter((task) => task.end === null || task.end.receipt.parents.length === 0)
    for (const id of new Set(tasks.flatMap(({ input }) => [input.owner, input.principalAi]))) {
      const { open_obligations } = await this.gate.listOpenObligations(this.agent(id), { limit: 200 })
      assert.deepEqual(
        open_obligations.map((receipt) => receipt.task_id),
        owed.filter(({ input }) => input.owner === id || input.principalAi === id).map((task) => task.id),
        `what is owed to ${id}`,
      )
    }
  }

  async #compareApprovals(): Promise<void> {
    const open = this.model.tasks
      .flatMap((task) => openQuestion(task) ?? [])
      .filter(({ kind }) => kind === 'approval')
      .sort((a, b) => a.asked.seq - b.asked.seq)
    const { approvals } = await this.gate.listApprovals(this.admin, { limit: 200 })
    assert.deepEqual(
      approvals.map(({ task_id, n, task }) => [task_id, n, task.payload]),
      open.map(({ task, n }) => [task.id, n, task.payload]),
    )
  }

  async #observeTask(task: ModelTask): Promise<void> {
    const view = await this.gate.getTask(this.admin, { task_id: task.id })
    if (task.eligibleAt === 'jitter') {
      const chosen = Date.parse(view.next_eligible_at ?? '')
      assert.ok(isJitter(task.updatedAt, chosen), `${view.next_eligible_at} is not within 5 s of the expiry`)
      this.#jitters.push(chosen - task.updatedAt)
      task.eligibleAt = chosen
    }
    const asked = openQuestion(task)
    // The model does not predict the request of a rule's question.
    if (asked?.request === null && view.question !== null) view.question.request = null
    assert.deepEqual(pick(view, expectedView(task)), expectedView(task))
    const tenant = await this.tenant()
    const path = { by: 'task', task_id: task.id } as const
    const receipts = await this.system.store.reads.receipts(tenant.tenant, path, 0, 'ascending', 1000)
    for (const [i, receipt] of task.receipts.entries()) receipt.seq = receipts[i]?.seq ?? 0
    assert.deepEqual(
      receipts.map((receipt, i) => ({
        type: receipt.receipt_type,
        from: receipt.from,
        to: receipt.to,
        lease: receipt.lease_id,
        parents: receipt.parents,
        body: pick(parseCanonical(receipt.body) as JsonObject, task.receipts[i]?.body ?? {}),
      })),
      task.receipts.map((receipt) => ({
        type: receipt.type,
        from: receipt.from,
        to: receipt.to,
        lease: receipt.lease?.id ?? null,
        parents: receipt.parents.map((parent) => parent.seq),
        body: receipt.body,
      })),
    )
  }

  #predict<Said>(verb: string, predict: () => Said): Prediction<Said> {
    try {
      return { verb, said: predict(), refusal: undefined }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { verb, said: undefined, refusal: error }
    }
  }

  /** The gate's response, if the gate and the model both accept. */
  #agree<Answer>(
    expected: Prediction<unknown>,
    outcome: Settled<Answer> | undefined,
    call?: LeaseCall,
  ): Answer | undefined {
    assert.ok(outcome !== undefined)
    const { verb, refusal } = expected
    assert.equal(outcome.fault?.code, refusal?.code, `${verb}, ${refusal?.why ?? 'accepted'}`)
    if (refusal === undefined) return outcome.answer
    this.#coverage.note(verb, refusal.why === '' ? refusal.code : `${refusal.code} (${refusal.why})`)
    if (refusal.code === 'LEASE_INVALID_OR_EXPIRED') {
      assert.equal(outcome.fault?.details.task_status, call?.lease.task.status)
    }
    return undefined
  }

  #newId(id: string): string {
    assert.ok(!this.#ids.has(id), `${id} was given out twice`)
    this.#ids.add(id)
    return id
  }

  async #receiptId(receipt: ModelReceipt | undefined): Promise<string> {
    const tenant = await this.tenant()
    return receiptId(tenant.salt, receipt?.seq ?? 0)
  }

  async tenant(): Promise<TenantRef> {
    this.#tenant ??= await this.system.store.tenant(this.system.tenant)
    return this.#tenant
  }

  get gate() {
    return this.system.gate
  }

  get admin(): Caller {
    return admin(this.system.tenant)
  }

  agent(id: string): Caller {
    return agent(id, this.system.tenant)
  }

  worker(id: string): Caller {
    return worker(id, this.system.tenant)
  }

  holder(call: LeaseCall): Caller {
    return this.worker(call.holder.slice('worker:'.length))
  }
}

export interface ModelClaim {
  readonly id: string
  readonly workerId: string
  readonly options: ClaimOptions
}

interface Served {
  readonly claim: ModelClaim
  readonly offers: readonly OfferView[]
}

function idsOf(offers: readonly OfferView[]): string[] {
  return offers.map((offer) => offer.task_id)
}

interface Prediction<Said> {
  readonly verb: string
  readonly said: Said | undefined
  readonly refusal: Refusal | undefined
}

type Settled<Answer> = { readonly answer?: Answer; readonly fault?: Fault }

async function settled<Answer>(call: Promise<Answer>): Promise<Settled<Answer>> {
  try {
    return { answer: await call }
  } catch (error) {
    if (error instanceof Fault) return { fault: error }
    throw error
  }
}
