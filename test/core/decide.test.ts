import { describe, expect, test } from 'vitest'
import type { Command } from '../../src/core/command.ts'
import { decide } from '../../src/core/decide/index.ts'
import { type ErrorCode, Fault } from '../../src/core/errors.ts'
import { canonical } from '../../src/core/json/json.ts'
import type { Question } from '../../src/core/question.ts'
import { MAX_BODY_BYTES } from '../../src/core/receipt.ts'
import type { Settings } from '../../src/core/settings.ts'
import type { Task } from '../../src/core/task.ts'
import { STATUSES, type Status, TRANSITIONS } from '../../src/core/transitions.ts'
import {
  ALICE,
  doneTask,
  FakeWorld,
  heldTask,
  LEASE,
  parkedTask,
  question,
  queuedTask,
  TASK_ID,
} from '../support/fake-world.ts'
import * as command from './commands.ts'
import { expectNoChange, faultOf } from './commands.ts'

const TASKS: Record<Status, Task> = {
  queued: queuedTask(),
  leased: heldTask(),
  running: heldTask({ status: 'running' }),
  pending_approval: parkedTask({ expires_at: LEASE.expires_at }),
  input_required: parkedTask({ status: 'input_required', expires_at: LEASE.expires_at }),
  succeeded: doneTask(),
  failed: doneTask({ status: 'failed' }),
  canceled: doneTask({ status: 'canceled' }),
}

const { expires_at } = LEASE
const QUESTIONS: Partial<Record<Status, Question[]>> = {
  pending_approval: [question({ lease_id: null, expires_at })],
  input_required: [question({ lease_id: null, expires_at, kind: 'input' })],
}

const COMMANDS: Record<string, Command> = {
  create: command.create(),
  claim: command.claim(),
  start: command.start(),
  renew: command.renew(),
  release: command.release(),
  progress: command.progress({ extend_ms: 60_000 }),
  complete: command.complete(),
  'complete without locatability': command.complete({ artifacts: null }),
  'retryable fail': command.fail(),
  'final fail': command.fail({ retryable: false }),
  'ask for approval': command.ask(),
  'ask for input': command.ask({ question: command.INPUT }),
  approve: command.approve(),
  deny: command.deny(),
  answer: command.answer(),
  cancel: command.cancel(),
  wake: command.wake(),
  acknowledge: command.acknowledge(),
  greet: command.greet({ delivered: [1] }),
  mark: command.mark({ items: [{ principal: 'agent:alice', seq: 1 }] }),
}

const world = (status: Status, later = 0, deadline_at: number | null = null) =>
  new FakeWorld({
    tasks: [{ ...TASKS[status], deadline_at }],
    questions: QUESTIONS[status] ?? [],
    settings: { escalation_enabled: true },
  }).later(later)

const everything = STATUSES.flatMap((status) =>
  Object.entries(COMMANDS).map(([name, asked]) => ({ status, name, asked })),
)

describe('decide', () => {
  /** Before and after the expiry of the lease. */
  const moments = [0, 50_000]

  test.each(everything)(
    'decide on $name of a $status task does not change its input',
    ({ status, asked }) => {
      for (const later of moments) {
        const before = world(status, later)
        const text = JSON.stringify(before.state)
        // The state is frozen, so a change throws.
        decide(before, asked)
        expect(JSON.stringify(before.state)).toBe(text)
      }
    },
  )

  test.each(everything)('decide on $name of a $status task is deterministic', ({ status, asked }) => {
    for (const later of moments) {
      expect(decide(world(status, later), asked)).toEqual(decide(world(status, later), asked))
    }
  })

  test('ids come from the given random source', () => {
    const [one, other] = [1, 2].map(
      (seed) => decide(new FakeWorld({ seed }), command.create()).tasks[0]?.task_id,
    )
    expect(one).not.toBe(other)
  })

  test('a bug throws instead of being reported as a refusal', () => {
    class BrokenWorld extends FakeWorld {
      override task(): Task | undefined {
        throw new Error('a bug')
      }
    }
    expect(() => decide(new BrokenWorld(), command.start())).toThrow('a bug')
  })
})

describe('refusals', () => {
  const leased = TASKS.leased
  const keyed = new FakeWorld().after(
    new FakeWorld().decide(command.create({ idempotency_key: 'k', input: canonical({ a: 1 }) })),
  )
  const limited = (settings: Partial<Settings>, tasks: Task[] = [leased]) =>
    new FakeWorld({ tasks, settings })
  const huge = canonical('x'.repeat(MAX_BODY_BYTES))

  test.each<[string, FakeWorld, Command, ErrorCode]>([
    ['create under a used key', keyed, command.create({ idempotency_key: 'k' }), 'IDEMPOTENCY_CONFLICT'],
    ['create over the quota', limited({ max_active_tasks: 1 }), command.create(), 'QUOTA_EXCEEDED'],
    ['create caused by a future receipt', limited({}), command.create({ caused_by: 2 }), 'PARENT_NOT_FOUND'],
    ['create with a huge contract', limited({}), command.create({ contract: huge }), 'RECEIPT_TOO_LARGE'],
    [
      'claim with huge capabilities',
      limited({}, [TASKS.queued]),
      command.claim({ capabilities: ['x'.repeat(MAX_BODY_BYTES)] }),
      'RECEIPT_TOO_LARGE',
    ],
    ['start of an unknown task', new FakeWorld(), command.start(), 'TASK_NOT_FOUND'],
    ['renew of an unknown task', new FakeWorld(), command.renew(), 'TASK_NOT_FOUND'],
    ['release of an unknown task', new FakeWorld(), command.release(), 'TASK_NOT_FOUND'],
    ['progress of an unknown task', new FakeWorld(), command.progress(), 'TASK_NOT_FOUND'],
    ['complete of an unknown task', new FakeWorld(), command.complete(), 'TASK_NOT_FOUND'],
    ['fail of an unknown task', new FakeWorld(), command.fail(), 'TASK_NOT_FOUND'],
    ['ask of an unknown task', new FakeWorld(), command.ask(), 'TASK_NOT_FOUND'],
    ['approve of an unknown task', new FakeWorld(), command.approve(), 'TASK_NOT_FOUND'],
    ['approve of an unknown question', limited({}), command.approve(), 'QUESTION_NOT_FOUND'],
    ['cancel of an unknown task', new FakeWorld(), command.cancel(), 'TASK_NOT_FOUND'],
    ['cancel by another agent', limited({}), command.cancel({ by: 'agent:bob' }), 'FORBIDDEN'],
    [
      'renew beyond the lifetime',
      limited({ max_lease_lifetime_seconds: 60 }),
      command.renew(),
      'LEASE_LIFETIME_EXCEEDED',
    ],
    [
      'renew once more after the anomaly',
      limited({}, [heldTask({ lease: { ...LEASE, renewals: 11 } })]),
      command.renew(),
      'LEASE_RENEWAL_LIMIT_EXCEEDED',
    ],
    [
      'progress that would extend too often',
      limited({}, [heldTask({ lease: { ...LEASE, renewals: 11 } })]),
      command.progress({ extend_ms: 1000 }),
      'LEASE_RENEWAL_LIMIT_EXCEEDED',
    ],
    ['progress with a huge body', limited({}), command.progress({ progress: huge }), 'RECEIPT_TOO_LARGE'],
    [
      'complete without locatability where it is required',
      limited({ locatability: 'strict' }),
      command.complete({ artifacts: null }),
      'LOCATABILITY_REQUIRED',
    ],
    ['complete with huge artifacts', limited({}), command.complete({ artifacts: huge }), 'RECEIPT_TOO_LARGE'],
    [
      'complete with another result',
      limited({}, [TASKS.succeeded]),
      command.complete({ result: canonical(43) }),
      'RESULT_CONFLICT',
    ],
    ['fail with a huge error', limited({}), command.fail({ error: huge }), 'RECEIPT_TOO_LARGE'],
    ['cancel with a huge reason', limited({}), command.cancel({ reason: huge }), 'RECEIPT_TOO_LARGE'],
    ['acknowledge of an unknown receipt', limited({}), command.acknowledge({ seq: 9 }), 'RECEIPT_NOT_FOUND'],
    ['acknowledge by another principal', keyed, command.acknowledge({ by: 'agent:bob' }), 'FORBIDDEN'],
  ])('a refusal changes nothing: %s', (_, before, asked, code) => {
    const decision = decide(before, asked)
    expect(faultOf(decision).code).toBe(code)
    expectNoChange(decision)
  })
})

describe('status of a task after a command', () => {
  const STALE = 'LEASE_INVALID_OR_EXPIRED'
  /** The new status, `-` if nothing changes, or the code of the refusal. */
  const NONE = 'QUESTION_NOT_FOUND'
  const OTHER = 'INVALID_STATE_TRANSITION'
  type Outcome = Status | '-' | typeof STALE | typeof NONE | typeof OTHER

  // Columns: queued, leased, running, pending_approval, input_required, succeeded, failed, canceled.
  const MATRIX: [string, Command, Outcome[]][] = [
    ['claim', command.claim(), ['leased', '-', '-', '-', '-', '-', '-', '-']],
    ['start', command.start(), [STALE, 'running', '-', STALE, STALE, STALE, STALE, STALE]],
    ['renew', command.renew(), [STALE, 'leased', 'running', STALE, STALE, STALE, STALE, STALE]],
    ['release', command.release(), [STALE, 'queued', 'queued', STALE, STALE, STALE, STALE, STALE]],
    ['progress', command.progress(), [STALE, 'running', 'running', STALE, STALE, STALE, STALE, STALE]],
    ['complete', command.complete(), [STALE, 'succeeded', 'succeeded', STALE, STALE, '-', STALE, STALE]],
    ['retryable fail', command.fail(), [STALE, 'queued', 'queued', STALE, STALE, STALE, '-', STALE]],
    [
      'final fail',
      command.fail({ retryable: false }),
      [STALE, 'failed', 'failed', STALE, STALE, STALE, '-', STALE],
    ],
    [
      'ask for approval',
      command.ask(),
      [STALE, 'pending_approval', 'pending_approval', STALE, STALE, STALE, STALE, STALE],
    ],
    [
      'ask for input',
      command.ask({ question: command.INPUT }),
      [STALE, 'input_required', 'input_required', STALE, STALE, STALE, STALE, STALE],
    ],
    ['approve', command.approve(), [NONE, NONE, NONE, 'queued', OTHER, NONE, NONE, NONE]],
    ['deny', command.deny(), [NONE, NONE, NONE, 'canceled', OTHER, NONE, NONE, NONE]],
    ['answer', command.answer(), [NONE, NONE, NONE, OTHER, 'queued', NONE, NONE, NONE]],
    ['cancel', command.cancel(), ['canceled', 'canceled', 'canceled', 'canceled', 'canceled', '-', '-', '-']],
    ['wake', command.wake(), ['-', '-', '-', '-', '-', '-', '-', '-']],
    [
      'reconciled success',
      command.reconcile(),
      ['succeeded', 'succeeded', 'succeeded', '-', '-', '-', '-', '-'],
    ],
    [
      'reconciled failure',
      command.reconcile({ outcome: { kind: 'failed', error: canonical({ code: 'X' }) } }),
      ['failed', 'failed', 'failed', '-', '-', '-', '-', '-'],
    ],
  ]
  const AFTER_EXPIRY: [string, Command, Outcome[]][] = [
    ['claim', command.claim(), ['leased', '-', '-', '-', '-', '-', '-', '-']],
    ['start', command.start(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['renew', command.renew(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['release', command.release(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['progress', command.progress(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['complete', command.complete(), [STALE, STALE, STALE, STALE, STALE, '-', STALE, STALE]],
    ['retryable fail', command.fail(), [STALE, STALE, STALE, STALE, STALE, STALE, '-', STALE]],
    [
      'final fail',
      command.fail({ retryable: false }),
      [STALE, STALE, STALE, STALE, STALE, STALE, '-', STALE],
    ],
    ['ask for approval', command.ask(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    [
      'ask for input',
      command.ask({ question: command.INPUT }),
      [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE],
    ],
    ['cancel', command.cancel(), ['canceled', 'canceled', 'canceled', 'canceled', 'canceled', '-', '-', '-']],
    ['wake', command.wake(), ['-', 'queued', 'queued', 'canceled', 'failed', '-', '-', '-']],
  ]
  const AT_DEADLINE: [string, Command, Outcome[]][] = [
    ['claim', command.claim(), ['failed', '-', '-', '-', '-', '-', '-', '-']],
    ['renew', command.renew(), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['complete', command.complete(), [STALE, STALE, STALE, STALE, STALE, '-', STALE, STALE]],
    ['cancel', command.cancel(), ['canceled', 'canceled', 'canceled', 'canceled', 'canceled', '-', '-', '-']],
    ['wake', command.wake(), ['failed', 'failed', 'failed', 'failed', 'failed', '-', '-', '-']],
  ]
  const stranger = { holder: 'worker:w2' } as const
  const FROM_ANOTHER: [string, Command, Outcome[]][] = [
    ['start', command.start(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['renew', command.renew(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['release', command.release(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['progress', command.progress(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['complete', command.complete(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['fail', command.fail(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
    ['ask', command.ask(stranger), [STALE, STALE, STALE, STALE, STALE, STALE, STALE, STALE]],
  ]

  const untilExpiry = LEASE.expires_at - world('leased').now
  const rows = (when: string, later: number, matrix: typeof MATRIX, deadline: number | null = null) =>
    matrix.flatMap(([name, asked, outcomes]) =>
      STATUSES.map((status, i) => ({
        when,
        later,
        deadline,
        name,
        asked,
        status,
        outcome: outcomes[i] ?? '-',
      })),
    )

  test.each([
    ...rows('under a valid lease', 0, MATRIX),
    ...rows('at the expiry of the lease', untilExpiry, AFTER_EXPIRY),
    ...rows('at its deadline', untilExpiry, AT_DEADLINE, LEASE.expires_at),
    ...rows('by a worker that does not hold it', 0, FROM_ANOTHER),
  ])('$when: $name of a $status task: $outcome', ({ later, deadline, asked, status, outcome }) => {
    const decision = decide(world(status, later, deadline), asked)
    if (outcome === STALE) {
      expect(faultOf(decision).toJSON()).toMatchObject({
        code: STALE,
        details: { task_id: TASK_ID, task_status: status },
      })
      expectNoChange(decision)
      return
    }
    if (outcome === NONE || outcome === OTHER) {
      expect(faultOf(decision).code).toBe(outcome)
      expectNoChange(decision)
      return
    }
    expect(decision.answer).not.toBeInstanceOf(Fault)
    if (outcome === '-') return expectNoChange(decision)
    const after = command.onlyTask(decision)
    expect(after.status).toBe(outcome)
    const edges: readonly Status[] = Object.values(TRANSITIONS[status])
    if (outcome !== status) expect(edges).toContain(outcome)
    // The identity of the task does not change.
    const { seq, rank, owner, lane, pool } = TASKS[status]
    expect(after).toMatchObject({ task_id: TASK_ID, tenant: 1, owner: ALICE, seq, rank, lane, pool })
    expect(owner).toBe(ALICE)
  })

  test('the matrix covers every transition', () => {
    const reached = [MATRIX, AFTER_EXPIRY, AT_DEADLINE].flatMap((matrix) =>
      matrix.flatMap(([, , outcomes]) => STATUSES.map((status, i) => `${status} ${outcomes[i]}`)),
    )
    for (const status of STATUSES) {
      for (const to of Object.values(TRANSITIONS[status])) expect(reached).toContain(`${status} ${to}`)
    }
  })
})
