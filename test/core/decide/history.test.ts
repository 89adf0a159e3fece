import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Answers, Command, LeaseClaim } from '../../../src/core/command.ts'
import type { Decision } from '../../../src/core/draft.ts'
import { Fault } from '../../../src/core/errors.ts'
import { type PrincipalKey, principalKey } from '../../../src/core/principal.ts'
import { canTerminate, createsObligation, receiptKey } from '../../../src/core/receipt.ts'
import { type DoneTask, isOpen, type Task, wakeAt } from '../../../src/core/task.ts'
import { isTerminal, type Status, TRANSITIONS } from '../../../src/core/transitions.ts'
import { FakeWorld } from '../../support/fake-world.ts'
import * as command from '../commands.ts'
import { expectNoChange, onlyTask, RESULT } from '../commands.ts'

/** One tenant and every lease that was ever granted, including leases of silent and late workers. */
class History {
  world: FakeWorld
  readonly leases: LeaseClaim[] = []

  constructor(world: FakeWorld) {
    this.world = world
  }

  run(asked: Command): Decision<unknown> {
    const before = this.world
    const decision = before.decide(asked)
    this.world = before.after(decision)
    checkDecision(before, asked, decision)
    checkLedger(this.world)
    if (asked.verb === 'claim') {
      for (const { task, lease } of (decision.answer as Answers['claim']).granted) {
        const { lease_id, holder, worker_id } = lease
        this.leases.push({ task_id: task.task_id, lease_id, holder, worker_id })
      }
    }
    return decision
  }

  wait(ms: number): void {
    this.world = this.world.later(ms)
  }

  sweep(): void {
    for (const task of this.world.state.tasks) {
      if (isOpen(task) && (wakeAt(task) ?? Number.POSITIVE_INFINITY) <= this.world.now) {
        this.run(command.wake(task.task_id))
      }
    }
  }

  /** Reliable workers complete all remaining tasks. */
  finish(): void {
    for (let round = 0; this.world.state.tasks.some(isOpen); round++) {
      expect(round).toBeLessThan(100)
      this.wait(3_600_000)
      this.sweep()
      const known = this.leases.length
      this.run(command.claim({ max_tasks: 100, ttl_ms: 60_000 }))
      for (const lease of this.leases.slice(known)) this.run(command.complete(lease))
    }
  }
}

function checkDecision(before: FakeWorld, asked: Command, decision: Decision<unknown>): void {
  if (decision.answer instanceof Fault && decision.answer.code !== 'LEASE_RENEWAL_LIMIT_EXCEEDED') {
    expectNoChange(decision)
  }
  for (const after of decision.tasks) {
    const task = before.task(after.task_id)
    if (task === undefined) expect(after.status).toBe('queued')
    else checkChange(task, after)
    if ('lease_id' in asked && task !== undefined) {
      // A call that changes a task under a lease comes from the current holder, or from the one that ended it.
      expect(task).toMatchObject({ lease: { lease_id: asked.lease_id, holder: asked.holder } })
      if (isOpen(task)) expect(wakeAt(task)).toBeGreaterThan(before.now)
    }
  }
  for (const [i, receipt] of decision.receipts.entries()) {
    expect(receipt.seq).toBe(before.tenant.seq + i + 1)
    for (const parent of receipt.parents) expect(parent).toBeLessThan(receipt.seq)
  }
}

function checkChange(before: Task, after: Task): void {
  const edges: readonly Status[] = Object.values(TRANSITIONS[before.status])
  if (after.status !== before.status) expect(edges).toContain(after.status)
  expect(after.fence).toBe(before.fence + (before.status === 'queued' && after.status === 'leased' ? 1 : 0))
  const failures = after.attempt - before.attempt
  const expiries = after.expiry_count - before.expiry_count
  expect([0, 1]).toContain(failures + expiries)
  expect(Math.min(failures, expiries)).toBe(0)
  if (isTerminal(before.status)) {
    // An ended task can change only by added evidence.
    const { outcome } = before as DoneTask
    expect(outcome.obligation_open).toBe(true)
    const { artifacts, delivery_proof, receipt_seq } = (after as DoneTask).outcome
    const repaired = { ...outcome, artifacts, delivery_proof, receipt_seq, obligation_open: false }
    expect(after).toEqual({ ...before, outcome: repaired })
  }
}

function checkLedger({ state }: FakeWorld): void {
  expect(state.receipts.map((receipt) => receipt.seq)).toEqual(state.receipts.map((_, i) => i + 1))
  expect(state.tenant.seq).toBe(state.receipts.length)
  const keys = state.receipts.flatMap((receipt) => receiptKey(receipt) ?? [])
  expect(new Set(keys).size).toBe(keys.length)

  // Obligations recomputed from the receipts alone.
  const open = state.receipts.filter(
    (promise) =>
      createsObligation(promise.receipt_type) &&
      !state.receipts.some(
        (receipt) =>
          receipt.parents.includes(promise.seq) && canTerminate(receipt.receipt_type, promise.receipt_type),
      ),
  )
  expect([...new Set(state.obligations.map(({ seq }) => seq))].sort(byNumber)).toEqual(
    open.map(({ seq }) => seq),
  )

  for (const task of state.tasks) {
    const closing = state.receipts.filter(
      (receipt) => receipt.parents.includes(task.seq) && canTerminate(receipt.receipt_type, 'task.assigned'),
    )
    const owed = isOpen(task) || task.outcome.obligation_open
    expect(closing).toHaveLength(owed ? 0 : 1)
    const principals = new Set<PrincipalKey>([
      task.owner,
      principalKey({ kind: 'agent', id: task.principal_ai }),
    ])
    const owedTo = state.obligations.filter(({ seq }) => seq === task.seq).map(({ principal }) => principal)
    expect(owedTo.sort()).toEqual(owed ? [...principals].sort() : [])
    if (!isOpen(task)) {
      expect(state.receipts[task.outcome.receipt_seq - 1]).toMatchObject({ task_id: task.task_id })
      expect(task.outcome.error === null).toBe(task.status === 'succeeded')
    }
  }
}

const byNumber = (a: number, b: number) => a - b

type Step = (history: History) => void

const creating: fc.Arbitrary<Step> = fc
  .record({
    owner: fc.constantFrom<PrincipalKey>('agent:alice', 'agent:bob', 'human:alice'),
    principal_ai: fc.constantFrom('alice', 'boss'),
    max_attempts: fc.integer({ min: 1, max: 3 }),
    max_expiries: fc.integer({ min: 1, max: 5 }),
    retry_backoff_seconds: fc.constantFrom(0, 5),
    timeout_seconds: fc.constantFrom(null, 20, 60),
    delay_ms: fc.constantFrom(0, 0, 10_000),
    idempotency_key: fc.constantFrom(null, null, 'k1', 'k2'),
  })
  .map((changes) => (history) => void history.run(command.create(changes)))

const claiming: fc.Arbitrary<Step> = fc
  .record({
    holder: fc.constantFrom<PrincipalKey>('worker:w1', 'worker:w2'),
    max_tasks: fc.integer({ min: 1, max: 3 }),
    ttl_ms: fc.constantFrom(5_000, 30_000, 60_000),
  })
  .map((changes) => (history) => void history.run(command.claim(changes)))

const VERBS: readonly ((lease: LeaseClaim) => Command)[] = [
  command.start,
  (lease) => command.renew({ ...lease, extend_ms: 30_000 }),
  command.release,
  command.progress,
  (lease) => command.progress({ ...lease, extend_ms: 10_000 }),
  command.complete,
  (lease) => command.complete({ ...lease, artifacts: null }),
  (lease) => command.complete({ ...lease, result: RESULT, delivery_proof: RESULT }),
  command.fail,
  (lease) => command.fail({ ...lease, retryable: false }),
  (lease) => command.fail({ ...lease, retry_after_ms: 0 }),
]

/** A call under a current or former lease; recent leases are more likely. */
const calling: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom(...VERBS), fc.oneof(fc.nat(2), fc.nat(30)))
  .map(([verb, age]) => (history) => {
    const lease = history.leases.at(-1 - age)
    if (lease !== undefined) history.run(verb(lease))
  })

const canceling: fc.Arbitrary<Step> = fc.nat(20).map((n) => (history) => {
  const task = history.world.state.tasks[n]
  if (task !== undefined)
    history.run(command.cancel({ task_id: task.task_id, by: 'human:root', role: 'admin' }))
})

const waiting: fc.Arbitrary<Step> = fc
  .constantFrom(1, 4_000, 10_000, 30_000, 100_000)
  .map((ms) => (history) => {
    history.wait(ms)
  })

const sweeping: fc.Arbitrary<Step> = fc.constant((history) => {
  history.sweep()
})

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: creating },
    { weight: 4, arbitrary: claiming },
    { weight: 8, arbitrary: calling },
    { weight: 1, arbitrary: canceling },
    { weight: 2, arbitrary: waiting },
    { weight: 2, arbitrary: sweeping },
  ),
  { minLength: 5, maxLength: 50 },
)

const settings = fc.record({
  claim_order: fc.constantFrom('fair', 'fifo'),
  locatability: fc.constantFrom('lenient', 'strict'),
  escalation_enabled: fc.boolean(),
  progress_receipts: fc.boolean(),
  max_lease_renewals: fc.constantFrom(1, 10),
  max_lease_lifetime_seconds: fc.constantFrom(40, 7200),
  max_concurrent_leases: fc.constantFrom(-1, 2),
})

test('the invariants hold after every step of a random history, and all tasks end', () => {
  fc.assert(
    fc.property(settings, fc.nat(), steps, (given, seed, walk) => {
      const history = new History(new FakeWorld({ settings: given, seed }))
      for (const step of walk) step(history)
      history.finish()
      for (const task of history.world.state.tasks) expect(isOpen(task)).toBe(false)
      expect(history.world.tenant).toMatchObject({ open_tasks: 0, active_leases: 0 })
    }),
    { numRuns: 300 },
  )
})

test('of two workers with leases of one task, only the holder of the newer lease can end it', () => {
  const history = new History(new FakeWorld())
  const { task_id } = onlyTask(history.run(command.create()))
  history.run(command.claim({ ttl_ms: 10_000 }))
  history.wait(10_000)
  history.sweep()
  history.wait(5_000)
  history.sweep()
  history.run(command.claim({ holder: 'worker:w2', ttl_ms: 10_000 }))
  const [late, current] = history.leases
  expect(history.run(command.complete({ ...late })).answer).toBeInstanceOf(Fault)
  expect(history.world.task(task_id)).toMatchObject({ status: 'leased', fence: 2, expiry_count: 1 })
  expect(history.run(command.complete({ ...current })).answer).toMatchObject({ obligation_open: false })
})
