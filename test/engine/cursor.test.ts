import { describe, expect, it } from 'vitest'
import { Cursors } from '../../src/engine/cursor.ts'
import { refusal } from '../support/steps.ts'

const cursors = new Cursors(async () => Buffer.from('a secret of this database'))
const scope = { tenant: 1, query: { list: 'tasks' } }

describe('cursor', () => {
  it.each([0, 7, 4_096, Number.MAX_SAFE_INTEGER])('a cursor decodes to position %d', async (position) => {
    expect(await cursors.read(scope, await cursors.write(scope, position))).toBe(position)
  })

  it('a cursor never starts with a hyphen, so that it can be the value of a command-line option', async () => {
    const written = await Promise.all(Array.from({ length: 1_000 }, (_, i) => cursors.write(scope, i)))
    expect(written.filter((cursor) => cursor.startsWith('-'))).toEqual([])
  })

  it.each([
    ['of another tenant', { ...scope, tenant: 2 }],
    ['of another query', { ...scope, query: { list: 'receipts' } }],
  ])('the cursor %s is refused', async (_, other) => {
    const cursor = await cursors.write(other, 7)
    expect(await refusal(cursors.read(scope, cursor))).toMatchObject({ details: { path: 'cursor' } })
  })

  it.each(['', 'x', 'MTIz', '-'.repeat(40), '\u0000'])('the cursor %j is refused', async (cursor) => {
    expect(await refusal(cursors.read(scope, cursor))).toMatchObject({ code: 'VALIDATION_ERROR' })
  })
})
