import { describe, expect, test } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import { FakeWorld, NOW } from '../../support/fake-world.ts'
import {
  cancel,
  claim,
  create,
  expectNoChange,
  faultOf,
  onlyTask,
  receiptOf,
  receiptTypes,
} from '../commands.ts'

describe('create', () => {
  test('create queues a task with its spec, its receipt and its obligation', () => {
    const decision = new FakeWorld().decide(
      create({
        session_id: 's1',
        labels: canonical({ a: 'b' }),
        idempotency_key: 'k',
        max_attempts: 3,
        max_expiries: 4,
        retry_backoff_seconds: 5,
        timeout_seconds: 6,
        priority: 7,
      }),
    )
    const task = onlyTask(decision)
    expect(task).toMatchObject({
      status: 'queued',
      seq: 1,
      rank: 1000,
      attempt: 0,
      expiry_count: 0,
      fence: 0,
      progress_count: 0,
      max_attempts: 3,
      max_expiries: 4,
      retry_backoff_seconds: 5,
      timeout_seconds: 6,
      updated_at: NOW,
      next_eligible_at: null,
    })
    expect(decision.answer).toEqual({ task_id: task.task_id, status: 'queued', is_duplicate: false, seq: 1 })
    expect(decision.spec).toEqual({
      tenant: 1,
      task_id: task.task_id,
      seq: 1,
      owner: 'agent:alice',
      type: 'render',
      priority: 7,
      session_id: 's1',
      labels: '{"a":"b"}',
      idempotency_key: 'k',
      created_at: NOW,
      instance: 'asyncgate-1',
      input: '{"type":"render"}',
      policy: null,
    })
    expect(receiptTypes(decision)).toEqual(['task.assigned'])
    expect(receiptOf(decision, 'task.assigned')).toMatchObject({
      seq: 1,
      from: 'service:asyncgate',
      to: 'agent:alice',
      task_id: task.task_id,
      lease_id: null,
      parents: [],
      body: create().contract,
    })
    expect(decision.opened).toEqual([{ tenant: 1, principal: 'agent:alice', seq: 1, task_id: task.task_id }])
  })

  test('create opens a second obligation to principal_ai if it differs from the owner', () => {
    const owed = (changes: Parameters<typeof create>[0]) =>
      new FakeWorld().decide(create(changes)).opened.map((obligation) => obligation.principal)
    expect(owed({ principal_ai: 'boss' })).toEqual(['agent:alice', 'agent:boss'])
    expect(owed({ owner: 'human:alice', principal_ai: 'alice' })).toEqual(['human:alice', 'agent:alice'])
  })

  test('create with a delay makes the task eligible after the delay', () => {
    expect(onlyTask(new FakeWorld().decide(create({ delay_ms: 5_000 })))).toMatchObject({
      status: 'queued',
      next_eligible_at: NOW + 5_000,
    })
  })

  test('create names the causing receipt as parent', () => {
    const first = new FakeWorld().decide(create())
    const second = new FakeWorld().after(first).decide(create({ caused_by: 1 }))
    expect(receiptOf(second, 'task.assigned').parents).toEqual([1])
  })

  test('create is refused at the quota and allowed again when a task has ended', () => {
    const one = new FakeWorld({ settings: { max_active_tasks: 1 } })
    const first = one.decide(create())
    const full = one.after(first)
    const refused = full.decide(create())
    expect(faultOf(refused).details).toEqual({ quota: 'max_active_tasks', limit: 1 })
    const free = full.after(full.decide(cancel({ task_id: onlyTask(first).task_id })))
    expect(free.decide(create()).tasks).toHaveLength(1)
  })

  test('a quota of -1 is unlimited, and a quota of 0 refuses every task', () => {
    expect(new FakeWorld({ settings: { max_active_tasks: -1 } }).decide(create()).tasks).toHaveLength(1)
    expect(faultOf(new FakeWorld({ settings: { max_active_tasks: 0 } }).decide(create())).code).toBe(
      'QUOTA_EXCEEDED',
    )
  })
})

describe('create with an idempotency key', () => {
  const keyed = create({ idempotency_key: 'k' })
  const first = new FakeWorld().decide(keyed)
  const after = new FakeWorld().after(first)
  const { task_id } = onlyTask(first)

  test('a repeated create with the same key returns the same task and writes nothing', () => {
    const again = after.decide(keyed)
    expect(again.answer).toEqual({ task_id, status: 'queued', is_duplicate: true, seq: 1 })
    expectNoChange(again)
  })

  test('a repeated create returns the current status of the task, also when it has ended', () => {
    const leased = after.after(after.decide(claim()))
    expect(leased.decide(keyed).answer).toMatchObject({ task_id, status: 'leased', is_duplicate: true })
    const canceled = leased.after(leased.decide(cancel({ task_id })))
    expect(canceled.decide(keyed).answer).toMatchObject({ task_id, status: 'canceled', is_duplicate: true })
  })

  test('a repeated create is answered when the quota is exhausted', () => {
    const full = new FakeWorld({ ...after.state, settings: { max_active_tasks: 1 } })
    expect(full.decide(keyed).answer).toMatchObject({ task_id, is_duplicate: true })
  })

  test('the same key with another input is a conflict that names the first task', () => {
    const fault = faultOf(after.decide({ ...keyed, input: canonical({ type: 'other' }) }))
    expect(fault.code).toBe('IDEMPOTENCY_CONFLICT')
    expect(fault.details).toEqual({ idempotency_key: 'k', task_id })
  })

  test('another owner, another key or no key creates another task', () => {
    for (const other of [
      { ...keyed, owner: 'agent:bob' as const },
      create(),
      create({ idempotency_key: 'l' }),
    ]) {
      expect(after.decide(other).answer).toMatchObject({ is_duplicate: false, seq: 2 })
    }
  })
})

describe('rank of a new task', () => {
  const ranks = (claim_order: 'fair' | 'fifo', owners: readonly ('agent:a' | 'agent:b')[]) => {
    let world = new FakeWorld({ settings: { claim_order } })
    return owners.map((owner) => {
      const decision = world.decide(create({ owner }))
      world = world.after(decision)
      return onlyTask(decision).rank
    })
  }

  test('under fair order each owner has its own sequence of ranks', () => {
    expect(ranks('fair', ['agent:a', 'agent:a', 'agent:a', 'agent:b'])).toEqual([1000, 2000, 3000, 1000])
  })

  test('under fifo order ranks follow the order of creation', () => {
    expect(ranks('fifo', ['agent:a', 'agent:a', 'agent:a', 'agent:b'])).toEqual([1000, 2000, 3000, 4000])
  })

  test('the rank of a new task is after the rank being served', () => {
    const world = new FakeWorld()
    const busy = new FakeWorld({ tenant: { ...world.tenant, clock: 70_000 } })
    expect(onlyTask(busy.decide(create())).rank).toBe(71_000)
  })
})
