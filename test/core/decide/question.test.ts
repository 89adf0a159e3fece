import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import { canonical } from '../../../src/core/json/json.ts'
import { MAX_QUESTIONS } from '../../../src/core/question.ts'
import { isOpen } from '../../../src/core/task.ts'
import { FakeWorld, heldTask, LEASE, NOW, parkedTask, question, TASK_ID } from '../../support/fake-world.ts'
import * as command from '../commands.ts'
import { bodyOf, expectNoChange, faultOf, onlyTask, receiptOf, receiptTypes } from '../commands.ts'

const held = new FakeWorld({ tasks: [heldTask({ status: 'running', attempt: 1, expiry_count: 2 })] })
const asking = held.after(held.decide(command.ask()))
const askingInput = held.after(held.decide(command.ask({ question: command.INPUT })))

const questionOf = ({ questions }: { readonly questions: readonly unknown[] }) => {
  expect(questions).toHaveLength(1)
  return questions[0]
}

describe('ask', () => {
  test('ask parks the task and ends the lease', () => {
    const decision = held.decide(command.ask())
    const task = onlyTask(decision)
    expect(task).toMatchObject({ status: 'pending_approval', question_count: 1, expires_at: null })
    expect(task).toMatchObject({ attempt: 1, expiry_count: 2, fence: 1, rank: 1000, updated_at: NOW })
    expect(task).not.toHaveProperty('lease')
    expect(isOpen(task)).toBe(true)
    expect(decision.answer).toEqual({ n: 1, status: 'pending_approval', expires_at: null, seq: 2 })
    expect(questionOf(decision)).toEqual({
      tenant: 1,
      task_id: TASK_ID,
      n: 1,
      kind: 'approval',
      seq: 2,
      asked_by: LEASE.holder,
      asked_at: NOW,
      lease_id: LEASE.lease_id,
      expires_at: null,
      not_before: null,
      request: command.APPROVAL.request,
      state: 'open',
      decided_by: null,
      decided_at: null,
      decided_seq: null,
      answer: null,
      content_hash: command.APPROVAL.content_hash,
    })
    expect(decision.closed).toEqual([])
  })

  test('the receipt of a question has its kind and hash but not its text', () => {
    const receipt = receiptOf(held.decide(command.ask()), 'question.asked')
    expect(receipt).toMatchObject({ from: LEASE.holder, to: 'agent:alice', lease_id: LEASE.lease_id })
    expect(receipt.parents).toEqual([1])
    expect(bodyOf(receipt)).toMatchObject({
      kind: 'approval',
      n: 1,
      expires_at: null,
      content_hash: command.APPROVAL.content_hash,
    })
    expect(receipt.body).not.toContain('Send the mail?')
  })

  test('a question is filed in the inboxes of the owner and of principal_ai', () => {
    const world = new FakeWorld({ tasks: [heldTask({ principal_ai: 'bob' })] })
    const { filed } = world.decide(command.ask())
    expect(filed.map(({ principal }) => principal).sort()).toEqual(['agent:alice', 'agent:bob'])
  })

  test.each([
    [1000, 0, NOW + 1000],
    [null, 60, NOW + 60_000],
    [1000, 60, NOW + 1000],
    [null, 0, null],
  ])(
    'a question expires after its own time (%s), or else after the configured one (%s)',
    (expires_in_ms, seconds, at) => {
      const world = new FakeWorld({ tasks: [heldTask()], settings: { approval_expires_seconds: seconds } })
      const asked = { ...command.APPROVAL, expires_in_ms }
      expect(onlyTask(world.decide(command.ask({ question: asked })))).toMatchObject({ expires_at: at })
      const input = { ...command.INPUT, expires_in_ms }
      const needed = expires_in_ms === null ? null : at
      expect(onlyTask(world.decide(command.ask({ question: input })))).toMatchObject({ expires_at: needed })
    },
  )

  test('a repeated ask under the same lease returns the same question and the current status', () => {
    const first = held.decide(command.ask()).answer
    const again = asking.decide(command.ask())
    expect(again.answer).toEqual(first)
    expectNoChange(again)
    const denied = asking.after(asking.decide(command.deny()))
    expect(denied.decide(command.ask()).answer).toEqual({ ...first, status: 'canceled' })
    const other = asking.decide(command.ask({ question: command.INPUT }))
    expect(faultOf(other).code).toBe('LEASE_INVALID_OR_EXPIRED')
    expect(faultOf(asking.decide(command.ask({ holder: 'worker:w2' }))).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })

  test('ask is refused at the limit of questions', () => {
    const world = new FakeWorld({ tasks: [heldTask({ question_count: MAX_QUESTIONS })] })
    const decision = world.decide(command.ask())
    expect(faultOf(decision).code).toBe('VALIDATION_ERROR')
    expectNoChange(decision)
    const last = new FakeWorld({ tasks: [heldTask({ question_count: MAX_QUESTIONS - 1 })] })
    expect(last.decide(command.ask()).answer).toMatchObject({ n: MAX_QUESTIONS })
  })
})

describe('create with a question', () => {
  test('create with a question parks the task and opens its obligation', () => {
    const decision = new FakeWorld().decide(
      command.create({ question: command.APPROVAL, policy: canonical({ rule_id: 'r' }), delay_ms: 5000 }),
    )
    expect(onlyTask(decision)).toMatchObject({ status: 'pending_approval', question_count: 1, fence: 0 })
    expect(decision.answer).toMatchObject({ status: 'pending_approval', is_duplicate: false, seq: 1 })
    expect(receiptTypes(decision)).toEqual(['task.assigned', 'question.asked'])
    expect(decision.spec).toMatchObject({ policy: '{"rule_id":"r"}' })
    expect(decision.opened).toHaveLength(1)
    expect(questionOf(decision)).toMatchObject({
      asked_by: 'service:asyncgate',
      lease_id: null,
      not_before: NOW + 5000,
    })
  })

  test('an approved task is ready immediately or when its delay is over', () => {
    const empty = new FakeWorld()
    const waiting = empty.after(empty.decide(command.create({ question: command.APPROVAL, delay_ms: 5000 })))
    const [task] = waiting.state.tasks
    const approve = command.approve({ task_id: task?.task_id ?? '' })
    expect(onlyTask(waiting.decide(approve))).toMatchObject({ next_eligible_at: NOW + 5000 })
    expect(onlyTask(waiting.later(5000).decide(approve))).toMatchObject({ next_eligible_at: null })
  })
})

describe('decision of a question', () => {
  test('an approval requeues the task at its old rank', () => {
    const decision = asking.decide(command.approve())
    const task = onlyTask(decision)
    expect(task).toMatchObject({ status: 'queued', next_eligible_at: null, rank: 1000, attempt: 1, fence: 1 })
    expect(receiptTypes(decision)).toEqual(['question.answered'])
    expect(decision.answer).toEqual({
      n: 1,
      state: 'approved',
      status: 'queued',
      is_duplicate: false,
      decided_by: 'human:root',
      decided_at: NOW,
      seq: 3,
    })
    expect(questionOf(decision)).toMatchObject({ state: 'approved', decided_seq: 3, answer: '{}' })
    expect(bodyOf(receiptOf(decision, 'question.answered'))).toMatchObject({ content_hash: 'sha256:a' })
  })

  test('an approval of an edited payload records the hash of the edited content', () => {
    const decision = asking.decide(command.approve({ content_hash: 'sha256:edited' }))
    expect(questionOf(decision)).toMatchObject({ content_hash: 'sha256:edited' })
    expect(bodyOf(receiptOf(decision, 'question.answered'))).toMatchObject({ content_hash: 'sha256:edited' })
  })

  test('a denial cancels the task and closes its obligation', () => {
    const decision = asking.decide(command.deny())
    expect(onlyTask(decision)).toMatchObject({
      status: 'canceled',
      lease: null,
      outcome: { error: '{"code":"APPROVAL_DENIED","message":"Not today."}', dead_letter: false },
    })
    expect(receiptTypes(decision)).toEqual(['question.answered', 'task.canceled', 'task.result_ready'])
    expect(bodyOf(receiptOf(decision, 'task.canceled'))).toMatchObject({
      canceled_by: 'human:root',
      reason: 'Not today.',
    })
    expect(decision.closed).toHaveLength(1)
  })

  test('the receipt of a decision names the assignment and the question as parents', () => {
    const receipt = receiptOf(asking.decide(command.approve()), 'question.answered')
    expect(receipt).toMatchObject({ from: 'human:root', to: 'agent:alice', parents: [1, 2] })
    expect(bodyOf(receipt)).toMatchObject({ decision: 'approved', kind: 'approval', n: 1 })
  })

  test.each(['agent:alice', 'agent:planner', LEASE.holder] as const)(
    '%s cannot decide on its own task',
    (by) => {
      const world = new FakeWorld({
        tasks: [parkedTask({ principal_ai: 'planner' })],
        questions: [question()],
      })
      for (const decide of [command.approve, command.deny]) {
        const decision = world.decide(decide({ by, role: 'admin' }))
        expect(faultOf(decision).code).toBe('FORBIDDEN')
        expectNoChange(decision)
      }
      expect(world.decide(command.approve()).answer).not.toBeInstanceOf(Fault)
    },
  )

  test('the owner of a task cannot decide even after another principal has decided', () => {
    const decided = asking.after(asking.decide(command.approve()))
    expect(faultOf(decided.decide(command.approve({ by: 'agent:alice' }))).code).toBe('FORBIDDEN')
  })

  test('a second decision is refused, and a repetition of the first returns the same response', () => {
    const decided = asking.after(asking.decide(command.approve())).later(1000)
    const again = decided.decide(command.approve())
    expect(again.answer).toMatchObject({ state: 'approved', decided_at: NOW, seq: 3 })
    expectNoChange(again)
    for (const other of [
      command.deny(),
      command.approve({ by: 'human:paul' }),
      command.approve({ answer: canonical({ comment: 'yes' }) }),
    ]) {
      const decision = decided.decide(other)
      expect(faultOf(decision)).toMatchObject({
        code: 'ALREADY_DECIDED',
        details: { n: 1, state: 'approved', decided_by: 'human:root' },
      })
      expectNoChange(decision)
    }
  })

  test('a decision at the instant of expiry is refused, and the expiry is recorded', () => {
    const soon = { ...command.APPROVAL, expires_in_ms: 1000 }
    const world = held.after(held.decide(command.ask({ question: soon })))
    expect(world.later(999).decide(command.approve()).answer).toMatchObject({ state: 'approved' })
    const late = world.later(1000).decide(command.approve())
    expect(faultOf(late)).toMatchObject({ code: 'ALREADY_DECIDED', details: { state: 'expired' } })
    expect(onlyTask(late)).toMatchObject({ status: 'canceled' })
    expect(receiptTypes(late)).toEqual(['question.answered', 'task.canceled', 'task.result_ready'])
  })

  test('an expired approval cancels the task, and expired input fails it', () => {
    const expiring = (asked: typeof command.INPUT) =>
      held
        .after(held.decide(command.ask({ question: { ...asked, expires_in_ms: 1000 } })))
        .later(1000)
        .decide(command.wake())
    const approval = expiring(command.APPROVAL)
    expect(approval.answer).toEqual({ status: 'canceled' })
    expect(onlyTask(approval)).toMatchObject({
      outcome: { error: expect.stringContaining('APPROVAL_EXPIRED') },
    })
    expect(receiptOf(approval, 'question.answered').from).toBe('service:asyncgate')
    const input = expiring(command.INPUT)
    expect(input.answer).toEqual({ status: 'failed' })
    expect(onlyTask(input)).toMatchObject({
      outcome: { error: expect.stringContaining('INPUT_EXPIRED'), dead_letter: false },
    })
    expect(receiptTypes(input)).toEqual(['question.answered', 'task.failed', 'task.result_ready'])
  })

  test('canceling a task withdraws its question', () => {
    for (const world of [asking, askingInput]) {
      const decision = world.decide(command.cancel())
      expect(questionOf(decision)).toMatchObject({ state: 'withdrawn', decided_by: 'agent:alice' })
      expect(receiptTypes(decision)).toEqual(['question.answered', 'task.canceled', 'task.result_ready'])
      expect(receiptOf(decision, 'task.canceled').lease_id).toBeNull()
    }
  })

  test('input can be answered only by the owner and admins', () => {
    for (const by of ['agent:alice', 'human:root'] as const) {
      const role = by === 'agent:alice' ? 'agent' : 'admin'
      expect(askingInput.decide(command.answer({ by, role })).answer).toMatchObject({ state: 'answered' })
    }
    expect(faultOf(askingInput.decide(command.answer({ by: 'human:paul' }))).code).toBe('FORBIDDEN')
    expect(faultOf(askingInput.decide(command.answer({ by: LEASE.holder, role: 'worker' }))).code).toBe(
      'FORBIDDEN',
    )
  })

  test('a parked task without its question throws instead of being refused', () => {
    const broken = new FakeWorld({ tasks: [parkedTask({ expires_at: NOW })] })
    expect(() => broken.decide(command.wake())).toThrow('parked without an open question')
    expect(() => broken.decide(command.cancel())).toThrow('parked without an open question')
  })
})
