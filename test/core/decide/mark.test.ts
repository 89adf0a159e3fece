import { describe, expect, test } from 'vitest'
import { newItem } from '../../../src/core/inbox.ts'
import { ALICE, FakeWorld, heldTask, NOW, queuedTask } from '../../support/fake-world.ts'
import {
  acknowledge,
  cancel,
  complete,
  create,
  expectNoChange,
  fail,
  faultOf,
  mark,
  receiptOf,
} from '../commands.ts'

describe('inbox items of receipts', () => {
  test('a result is filed in the inbox of its addressee', () => {
    const world = new FakeWorld({ tasks: [heldTask()] })
    const decision = world.decide(complete())
    const { seq } = receiptOf(decision, 'task.result_ready')
    expect(decision.filed).toEqual([newItem(1, ALICE, seq, NOW)])
  })

  test('a result is also filed in the inbox of principal_ai', () => {
    const world = new FakeWorld({ tasks: [heldTask({ principal_ai: 'bob' })] })
    for (const command of [complete(), fail({ retryable: false })]) {
      const decision = world.decide(command)
      const { seq } = receiptOf(decision, 'task.result_ready')
      expect(decision.filed.map((item) => [item.principal, item.seq])).toEqual([
        [ALICE, seq],
        ['agent:bob', seq],
      ])
    }
    const service = heldTask({ owner: 'service:bob', principal_ai: 'bob' })
    expect(new FakeWorld({ tasks: [service] }).decide(complete()).filed).toHaveLength(2)
  })

  test('assignments and scheduled retries are not filed', () => {
    const empty = new FakeWorld()
    expect(empty.decide(create()).filed).toEqual([])
    const retried = new FakeWorld({ tasks: [heldTask()] }).decide(fail())
    expect(retried.filed).toEqual([])
  })
})

describe('mark', () => {
  const ended = new FakeWorld({ tasks: [queuedTask()] })
  const world = ended.after(ended.decide(cancel()))
  const seq = world.state.items[0]?.seq ?? 0
  const items = [{ principal: ALICE, seq }]

  test('mark sets the time, returns the item and writes no receipt', () => {
    const decision = world.later(5).decide(mark({ items }))
    expect(decision.answer).toEqual({ items: decision.marked })
    expect(decision.marked).toMatchObject([{ seq, read_at: NOW + 5 }])
    expect(decision.receipts).toEqual([])
    expect(decision.tasks).toEqual([])
  })

  test('a repeated mark returns the same response and changes nothing', () => {
    const first = world.decide(mark({ items }))
    const again = world.after(first).later(9).decide(mark({ items }))
    expect(again.answer).toEqual(first.answer)
    expectNoChange(again)
  })

  test('mark is allowed only for the owner of the inbox and admins', () => {
    expect(faultOf(world.decide(mark({ items, by: 'agent:bob' }))).code).toBe('FORBIDDEN')
    expect(
      faultOf(world.decide(mark({ items: [{ principal: 'agent:bob', seq }], by: 'agent:bob' }))).code,
    ).toBe('FORBIDDEN')
    const above = world.decide(mark({ items, by: 'human:root', role: 'admin' }))
    expect(above.marked).toMatchObject([{ principal: ALICE, read_at: NOW }])
  })

  test('mark finds only receipts in an inbox', () => {
    const assigned = new FakeWorld().after(new FakeWorld().decide(create()))
    for (const where of [world, assigned]) {
      for (const absent of [where === world ? seq + 1 : 1, 99]) {
        const refused = where.decide(mark({ items: [{ principal: ALICE, seq: absent }] }))
        expect(faultOf(refused).code).toBe('RECEIPT_NOT_FOUND')
      }
    }
  })

  test('mark marks all items or none', () => {
    const refused = world.decide(mark({ items: [...items, { principal: ALICE, seq: 99 }] }))
    expect(faultOf(refused).code).toBe('RECEIPT_NOT_FOUND')
    expectNoChange(refused)
  })

  test('an acknowledgement marks the item of the acknowledging principal as read and archived', () => {
    const decision = world.later(3).decide(acknowledge({ seq }))
    expect(decision.marked).toMatchObject([{ principal: ALICE, seq, read_at: NOW + 3, archived_at: NOW + 3 }])
    const above = world.decide(acknowledge({ seq, by: 'human:root', role: 'admin' }))
    expect(above.marked).toEqual([])
  })
})
