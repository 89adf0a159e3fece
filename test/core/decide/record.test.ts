import { expect, test } from 'vitest'
import { FakeWorld } from '../../support/fake-world.ts'
import * as command from '../commands.ts'

test('a record is one receipt, and nothing else', () => {
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

test('what is recorded again is another receipt: each of them happened', () => {
  const world = new FakeWorld()
  const after = world.after(world.decide(command.record()))
  expect(after.decide(command.record()).receipts).toMatchObject([{ seq: 2 }])
})
