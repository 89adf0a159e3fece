import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, parseCanonical } from '../../src/core/json/json.ts'
import { membersIn } from '../../src/core/json/members.ts'

describe('membersIn', () => {
  it('membersIn finds the members of a canonical object with their texts', () => {
    const text = canonical({ a: ['}', '"', '\\', { b: '\\"' }], 'k"': 1, z: {}, y: null, x: 'é,{' })
    expect(membersIn(text)).toEqual([
      ['a', '["}","\\"","\\\\",{"b":"\\\\\\""}]'],
      ['k"', '1'],
      ['x', '"é,{"'],
      ['y', 'null'],
      ['z', '{}'],
    ])
    expect(membersIn(canonical({}))).toEqual([])
  })

  it('membersIn finds the same members as a parser', () => {
    const key = fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__' && !name.includes('\0'))
    const json = fc
      .jsonValue({ noUnicodeString: false })
      .filter(
        (value) => !JSON.stringify(value).includes('\\u0000') && !JSON.stringify(value).includes('__proto__'),
      )
    fc.assert(
      fc.property(fc.dictionary(key, json), (object) => {
        let text: ReturnType<typeof canonical>
        try {
          text = canonical(object)
        } catch {
          return
        }
        const found = membersIn(text).map(([name, member]) => [name, parseCanonical(member)])
        expect(Object.fromEntries(found)).toEqual(parseCanonical(text))
      }),
    )
  })
})
