import { expect, test } from 'vitest'
import { FakeWorld } from '../../support/fake-world.ts'
import * as command from '../commands.ts'

test('record writes one receipt and changes nothing else', () => {
  const world = new FakeWorld()
  const decision = world.decide(command.record())
  expect(decision).toMatchObject({ answer: { seq: 1 }, tasks: [], spec: null, opened: [], filed: [] })
  expect(decision.receipts).toMatchObject([
    {
      seq: 1,
      receipt_type: 'policy.changed',
      from: 'agent:alice',
      to: 'service:asyncgate',
      parents: [],
      task_id: null,
    },
  ])
})

test('a repeated record writes another receipt', () => {
  const world = new FakeWorld()
  const after = world.after(world.decide(command.record()))
  expect(after.decide(command.record()).receipts).toMatchObject([{ seq: 2 }])
})
