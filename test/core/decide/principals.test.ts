import { describe, expect, test } from 'vitest'
import { receiptId } from '../../../src/core/ids.ts'
import { newItem } from '../../../src/core/inbox.ts'
import { canonical } from '../../../src/core/json/json.ts'
import { FakeWorld, NOW, SALT } from '../../support/fake-world.ts'
import { acknowledge, bodyOf, create, expectNoChange, faultOf, greet, receiptOf } from '../commands.ts'

describe('acknowledge', () => {
  const empty = new FakeWorld()
  const world = empty.after(empty.decide(create()))

  test('is a receipt that names the one it acknowledges', () => {
    const decision = world.decide(acknowledge())
    expect(decision.answer).toEqual({ seq: 2 })
    expect(receiptOf(decision, 'receipt.acknowledged')).toMatchObject({
      from: 'agent:alice',
      to: 'service:asyncgate',
      task_id: world.state.tasks[0]?.task_id,
      parents: [1],
    })
    expect(bodyOf(receiptOf(decision, 'receipt.acknowledged')).acknowledged_receipt_id).toBe(
      receiptId(SALT, 1),
    )
  })

  test('closes no obligation and changes no task', () => {
    const decision = world.decide(acknowledge())
    expect(decision.closed).toEqual([])
    expect(decision.tasks).toEqual([])
  })

  test('sent again hears the same and writes nothing', () => {
    const again = world.after(world.decide(acknowledge())).decide(acknowledge())
    expect(again.answer).toEqual({ seq: 2 })
    expectNoChange(again)
  })

  test('is for who the receipt is addressed to, and those above', () => {
    expect(faultOf(world.decide(acknowledge({ by: 'agent:bob' }))).code).toBe('FORBIDDEN')
    expect(world.decide(acknowledge({ by: 'human:root', role: 'admin' })).answer).toEqual({ seq: 2 })
  })

  test('of the same receipt by another is another one', () => {
    const after = world.after(world.decide(acknowledge()))
    expect(after.decide(acknowledge({ by: 'human:root', role: 'admin' })).answer).toEqual({ seq: 3 })
  })
})

describe('greet', () => {
  const MINUTE = 60_000
  const world = new FakeWorld()
  const met = world.after(world.decide(greet({ instance_id: 'i1' })))

  test('notes who came, when, and what it was handed', () => {
    const filed = new FakeWorld({ items: [newItem(1, 'agent:alice', 4, NOW - 1)] })
    const client_capabilities = canonical({ streaming: true })
    const said = { instance_id: 'i1', agent_version: '1.2', client_capabilities }
    const decision = filed.decide(greet({ ...said, delivered: [4, 7] }))
    expect(decision.answer).toEqual({
      tenant: 1,
      principal: 'agent:alice',
      instance_id: 'i1',
      first_seen_at: NOW,
      last_seen_at: NOW,
      sessions_count: 1,
      agent_version: '1.2',
      client_capabilities,
      instances: canonical([['i1', NOW]]),
    })
    expect(decision.relationship).toEqual(decision.answer)
    expect(decision.marked).toMatchObject([{ seq: 4, delivered_at: NOW, delivery_count: 1 }])
    expect(decision.receipts).toEqual([])
  })

  test.each([
    ['soon again is the same session', 30 * MINUTE, 'i1', 1],
    ['soon again without an instance is the same session', MINUTE, null, 1],
    ['after a long silence is a new session', 30 * MINUTE + 1, 'i1', 2],
    ['as another instance is a new session', MINUTE, 'i2', 2],
  ])('%s', (_, later, instance_id, sessions_count) => {
    expect(met.later(later).decide(greet({ instance_id })).answer).toMatchObject({
      first_seen_at: NOW,
      last_seen_at: NOW + later,
      instance_id: instance_id ?? 'i1',
      sessions_count,
    })
  })

  test('instances that take turns are counted once each', () => {
    let turns = met
    for (const [instance_id, sessions_count] of [
      ['i2', 2],
      ['i1', 2],
      ['i2', 2],
      ['i3', 3],
      ['i1', 3],
    ] as const) {
      turns = turns.later(MINUTE)
      const decision = turns.decide(greet({ instance_id }))
      expect(decision.answer).toMatchObject({ instance_id, sessions_count })
      turns = turns.after(decision)
    }
    expect(turns.later(31 * MINUTE).decide(greet({ instance_id: 'i1' })).answer).toMatchObject({
      sessions_count: 4,
    })
  })

  test('what it said of itself stays until it says something else', () => {
    const version = met.after(met.decide(greet({ instance_id: 'i1', agent_version: '1' })))
    expect(version.decide(greet()).answer).toMatchObject({ agent_version: '1', instance_id: 'i1' })
  })

  test('a bounded number of instances is remembered', () => {
    let crowd = met
    for (let n = 0; n < 200; n++) crowd = crowd.after(crowd.decide(greet({ instance_id: `n${n}` })))
    expect(JSON.parse(crowd.relationship('agent:alice')?.instances ?? '')).toHaveLength(50)
  })

  test('polls every ten minutes are one session all day', () => {
    let day = met
    for (let i = 0; i < 144; i++) {
      day = day.later(10 * MINUTE)
      day = day.after(day.decide(greet({ instance_id: 'i1' })))
    }
    expect(day.relationship('agent:alice')).toMatchObject({ sessions_count: 1 })
  })
})
