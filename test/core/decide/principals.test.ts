import { describe, expect, test } from 'vitest'
import { receiptId } from '../../../src/core/ids.ts'
import { newItem } from '../../../src/core/inbox.ts'
import { canonical } from '../../../src/core/json/json.ts'
import { FakeWorld, NOW, SALT } from '../../support/fake-world.ts'
import { acknowledge, bodyOf, create, expectNoChange, faultOf, greet, receiptOf } from '../commands.ts'

describe('acknowledge', () => {
  const empty = new FakeWorld()
  const world = empty.after(empty.decide(create()))

  test('acknowledge writes a receipt that names the acknowledged one', () => {
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

  test('acknowledge closes no obligation and changes no task', () => {
    const decision = world.decide(acknowledge())
    expect(decision.closed).toEqual([])
    expect(decision.tasks).toEqual([])
  })

  test('a repeated acknowledge returns the same response and writes nothing', () => {
    const again = world.after(world.decide(acknowledge())).decide(acknowledge())
    expect(again.answer).toEqual({ seq: 2 })
    expectNoChange(again)
  })

  test('acknowledge is allowed only for the addressee of the receipt and admins', () => {
    expect(faultOf(world.decide(acknowledge({ by: 'agent:bob' }))).code).toBe('FORBIDDEN')
    expect(world.decide(acknowledge({ by: 'human:root', role: 'admin' })).answer).toEqual({ seq: 2 })
  })

  test('two principals can each acknowledge the same receipt', () => {
    const after = world.after(world.decide(acknowledge()))
    expect(after.decide(acknowledge({ by: 'human:root', role: 'admin' })).answer).toEqual({ seq: 3 })
  })
})

describe('greet', () => {
  const MINUTE = 60_000
  const world = new FakeWorld()
  const met = world.after(world.decide(greet({ instance_id: 'i1' })))

  test('greet records the instance, the time and the delivered items', () => {
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
    ['within 30 minutes continues the session', 30 * MINUTE, 'i1', 1],
    ['without an instance continues the session', MINUTE, null, 1],
    ['after more than 30 minutes starts a new session', 30 * MINUTE + 1, 'i1', 2],
    ['from another instance starts a new session', MINUTE, 'i2', 2],
  ])('greet %s', (_, later, instance_id, sessions_count) => {
    expect(met.later(later).decide(greet({ instance_id })).answer).toMatchObject({
      first_seen_at: NOW,
      last_seen_at: NOW + later,
      instance_id: instance_id ?? 'i1',
      sessions_count,
    })
  })

  test('alternating instances are counted once each', () => {
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

  test('the version and instance of an agent stay until it sends other values', () => {
    const version = met.after(met.decide(greet({ instance_id: 'i1', agent_version: '1' })))
    expect(version.decide(greet()).answer).toMatchObject({ agent_version: '1', instance_id: 'i1' })
  })

  test('a limited number of instances is stored', () => {
    let crowd = met
    for (let n = 0; n < 200; n++) crowd = crowd.after(crowd.decide(greet({ instance_id: `n${n}` })))
    expect(JSON.parse(crowd.relationship('agent:alice')?.instances ?? '')).toHaveLength(50)
  })

  test('polling every ten minutes counts as one session all day', () => {
    let day = met
    for (let i = 0; i < 144; i++) {
      day = day.later(10 * MINUTE)
      day = day.after(day.decide(greet({ instance_id: 'i1' })))
    }
    expect(day.relationship('agent:alice')).toMatchObject({ sessions_count: 1 })
  })
})
