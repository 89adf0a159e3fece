import { expect, test } from 'vitest'
import { copyOf, NO_POLICIES } from '../../src/features/policies/copy.ts'
import { rule } from './support.ts'

const deps = { fixed: NO_POLICIES, defaults: { plain: 'ALLOW', upstream: 'BLOCK' }, now: Date.now } as const

function item(id: string, version: number, fields: object = {}) {
  const draft = rule(id, { action: 'ALLOW', condition: { '==': [1, 1] }, ...fields })
  const value = { ...draft, updated_at: '2026-01-01T00:00:00.000Z', updated_by: 'human:root' }
  return { name: id, value, text: JSON.stringify(value), version }
}

test('unchanged rules are not compiled again', async () => {
  const items = [item('a', 1), item('b', 1)]
  const first = await copyOf(deps, items, [], undefined)
  expect(await copyOf(deps, items, [], first)).toBe(first)
})

test('only a changed rule is compiled again', async () => {
  const first = await copyOf(deps, [item('a', 1), item('b', 1)], [], undefined)
  const next = await copyOf(deps, [item('a', 1), item('b', 2, { action: 'BLOCK' })], [], first)
  expect(next.book).not.toBe(first.book)
  expect(next.rules.get('a')).toBe(first.rules.get('a'))
  expect(next.rules.get('b')).not.toBe(first.rules.get('b'))
})

test('a rule of the file overrides a stored rule with the same id', async () => {
  const fixed = { rules: [rule('a', { action: 'BLOCK' })], patterns: [] }
  const { rules, book } = await copyOf({ ...deps, fixed }, [item('a', 1)], [], undefined)
  expect([rules.get('a')?.view.source, book.rules.length]).toEqual(['file', 1])
})
