import { expect, test } from 'vitest'
import { copyOf, NO_POLICIES } from '../../src/features/policies/copy.ts'
import type { Entry } from '../../src/store/entries.ts'
import { rule } from './support.ts'

const parts = { fixed: NO_POLICIES, defaults: { plain: 'ALLOW', upstream: 'BLOCK' }, now: Date.now } as const

function entry(id: string, version: number, fields: object = {}): Entry {
  const draft = rule(id, { action: 'ALLOW', condition: { '==': [1, 1] }, ...fields })
  const value = JSON.stringify({ ...draft, updated_at: '2026-01-01T00:00:00.000Z', updated_by: 'human:root' })
  return { tenant: 1, kind: 'policy', name: id, value, version, due_at: null }
}

test('rules that are read again and are the same are not compiled again', async () => {
  const entries = [entry('a', 1), entry('b', 1)]
  const first = await copyOf(parts, entries, [], undefined)
  expect(await copyOf(parts, entries, [], first)).toBe(first)
})

test('of rules of which one has changed, only that one is', async () => {
  const first = await copyOf(parts, [entry('a', 1), entry('b', 1)], [], undefined)
  const next = await copyOf(parts, [entry('a', 1), entry('b', 2, { action: 'BLOCK' })], [], first)
  expect(next.book).not.toBe(first.book)
  expect(next.rules.get('a')).toBe(first.rules.get('a'))
  expect(next.rules.get('b')).not.toBe(first.rules.get('b'))
})

test('a rule of the file goes before one that is stored under its id', async () => {
  const fixed = { rules: [rule('a', { action: 'BLOCK' })], patterns: [] }
  const { rules, book } = await copyOf({ ...parts, fixed }, [entry('a', 1)], [], undefined)
  expect([rules.get('a')?.view.source, book.rules.length]).toEqual(['file', 1])
})
