import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cleanLine,
  cleanText,
  hasHidden,
  visibleJson,
  visibleLine,
  visibleText,
} from '../../src/util/untrusted-text.ts'

const HIDDEN: readonly (readonly [string, string, string])[] = [
  ['a bidirectional override', '\u202E', 'U+202E'],
  ['a bidirectional isolate', '\u2066', 'U+2066'],
  ['a zero-width space', '\u200B', 'U+200B'],
  ['a byte order mark', '\uFEFF', 'U+FEFF'],
  ['a tag character', '\u{E0041}', 'U+E0041'],
  ['an escape character', '\u001B', 'U+001B'],
  ['a C1 control character', '\u009B', 'U+009B'],
  ['a carriage return', '\r', 'U+000D'],
  ['a line separator', '\u2028', 'U+2028'],
  ['a paragraph separator', '\u2029', 'U+2029'],
  ['a private-use character', '\uE000', 'U+E000'],
  ['a variation selector', '\uFE00', 'U+FE00'],
  ['a supplementary variation selector', '\u{E0100}', 'U+E0100'],
  ['an emoji variation selector after a letter', '\uFE0F', 'U+FE0F'],
  ['a combining grapheme joiner', '\u034F', 'U+034F'],
  ['a Hangul filler', '\u3164', 'U+3164'],
  ['a blank Braille pattern', '\u2800', 'U+2800'],
  ['a noncharacter', '\uFFFE', 'U+FFFE'],
  ['an unpaired surrogate', '\uD800', 'U+D800'],
]

describe('hidden characters', () => {
  it.each(HIDDEN)(
    '%s is detected, removed from clean text and written out in visible text',
    (_, char, code) => {
      const text = `a${char}b`
      expect(hasHidden(text)).toBe(true)
      expect(cleanText(text, 100)).toBe(char.isWellFormed() ? 'ab' : 'a\uFFFDb')
      expect(visibleText(text)).toBe(`a[${code}]b`)
      expect(visibleJson(text)).toMatch(/^"a\\.*b"$/)
      expect(JSON.parse(visibleJson(text))).toBe(text)
    },
  )

  it.each(['plain', 'ok ✔️', 'naïve', 'e\u0301', '日本語', 'שלום', 'a\tb\nc'])(
    '%j has no hidden characters',
    (text) => {
      expect(hasHidden(text)).toBe(false)
      expect(cleanText(text, 100)).toBe(text)
      expect(visibleText(text)).toBe(text)
    },
  )

  it('no form of the text contains hidden characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const shown of [
          cleanText(text, 50),
          cleanLine(text, 50),
          visibleText(text),
          visibleLine(text, 50),
        ]) {
          expect(hasHidden(shown)).toBe(false)
        }
      }),
    )
  })
})

describe('cleanText', () => {
  it('cleanText removes terminal sequences together with their parameters', () => {
    expect(cleanText('a\u001b[31mb\u001b]0;title\u0007c\r\nd', 100)).toBe('abc\nd')
  })

  it('cleanText cuts at the limit without splitting a character', () => {
    expect(cleanText('x'.repeat(50), 10)).toBe(`${'x'.repeat(9)}…`)
    expect(cleanText(`${'x'.repeat(8)}😀😀`, 10).isWellFormed()).toBe(true)
  })
})

describe('cleanLine', () => {
  it('cleanLine joins lines and collapses white space', () => {
    expect(cleanLine('a\n\n b\u2028c\td ', 100)).toBe('a b c d')
  })
})

describe('visibleText', () => {
  it('visibleText lists at most eight code points of a run and counts the others', () => {
    expect(visibleText('a\u200B\u202Eb')).toBe('a[U+200B U+202E]b')
    expect(visibleText(`a${'\u200B'.repeat(1008)}b`)).toBe(`a[${'U+200B '.repeat(8)}and 1,000 more]b`)
  })
})

describe('visibleLine', () => {
  it('visibleLine joins lines, and writes out a line separator instead of joining at it', () => {
    expect(visibleLine('a\n\n  b\tc\u2028d', 100)).toBe('a b c[U+2028]d')
  })

  it('visibleLine cuts at the limit', () => {
    expect(visibleLine('x'.repeat(1000), 10)).toBe(`${'x'.repeat(9)}…`)
  })
})

describe('visibleJson', () => {
  it('visibleJson is JSON of the same value without hidden characters', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
        const text = visibleJson(value, indent)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(hasHidden(text)).toBe(false)
      }),
    )
  })

  it('visibleJson escapes hidden characters by their UTF-16 code units', () => {
    expect(visibleJson({ note: 'a\u202Eb\u{E0041}' })).toBe('{\n  "note": "a\\u202eb\\udb40\\udc41"\n}')
  })
})
