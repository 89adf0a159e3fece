import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignLines } from '../../src/console/line-diff.ts'

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 })

describe('alignLines', () => {
  it('alignLines preserves all lines and their order', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const pairs = alignLines(before.join('\n'), after.join('\n'))
        expect(pairs.flatMap((pair) => pair.before ?? [])).toEqual(before)
        expect(pairs.flatMap((pair) => pair.after ?? [])).toEqual(after)
      }),
    )
  })

  it('alignLines aligns equal lines', () => {
    expect(alignLines('a\nb\nc', 'a\nx\nc')).toEqual([
      { before: 'a', after: 'a' },
      { before: 'b', after: undefined },
      { before: undefined, after: 'x' },
      { before: 'c', after: 'c' },
    ])
  })

  it('alignLines does not compare long texts', () => {
    const long = Array.from({ length: 5000 }, (_, i) => `line ${i}`).join('\n')
    expect(alignLines(long, `new\n${long}`)).toHaveLength(5001)
    expect(alignLines(long, `new\n${long}`)[1]).toEqual({ before: 'line 1', after: 'line 0' })
  })

  it('alignLines pairs the lines of texts with too many changes', () => {
    const text = (name: string) => Array.from({ length: 400 }, (_, i) => `${name} ${i}`).join('\n')
    expect(alignLines(text('a'), text('b'))).toHaveLength(400)
    expect(alignLines(text('a'), text('b'))[399]).toEqual({ before: 'a 399', after: 'b 399' })
  })
})
