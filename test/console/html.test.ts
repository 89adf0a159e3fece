import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { html, nothing } from '../../src/console/html.ts'
import { block, line, prettyJson } from '../../src/console/untrusted.ts'

describe('html', () => {
  it('escapes every text that is put in', () => {
    const hostile = `<img src=x onerror="alert('1')">&amp;`
    expect(String(html`<p title="${hostile}">${hostile}</p>`)).toBe(
      '<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;">&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;</p>',
    )
  })

  it('takes what it made itself as it is, alone and in lists', () => {
    const items = ['<a>', '<b>'].map((text) => html`<li>${text}</li>`)
    expect(String(html`<ul>${items}</ul>`)).toBe('<ul><li>&lt;a&gt;</li><li>&lt;b&gt;</li></ul>')
  })

  it('leaves out what is not there, and shows 0', () => {
    expect(String(html`[${null}${undefined}${false}${nothing}${0}]`)).toBe('[0]')
  })

  it('never lets a text end its element or its attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const page = String(html`<p title="${text}">${text}</p>`)
        expect(page.match(/[<>]/g)).toHaveLength(4)
        expect(page.match(/"/g)).toHaveLength(2)
      }),
    )
  })
})

const shown = (text: string, max = 200) => String(html`${line(text, max)}`)

describe('a line of somebody else', () => {
  it.each([
    ['a bidirectional override', 'a\u202Eb', 'U+202E'],
    ['a zero-width space', 'a\u200Bb', 'U+200B'],
    ['a tag character', 'a\u{E0041}b', 'U+E0041'],
    ['an escape', 'a\u001B[31mb', 'U+001B'],
    ['a variation selector', 'a\u{E0100}b', 'U+E0100'],
    ['a lone surrogate', 'a\uD800b', 'U+D800'],
  ])('shows %s', (_, text, code) => {
    expect(shown(text)).toContain(`<span class="hidden-char">${code}</span>`)
  })

  it('shows many in a row as what they are, and how many', () => {
    expect(shown('a\u200B\u202Eb')).toBe('a<span class="hidden-char">U+200B U+202E</span>b')
    expect(shown(`a${'\u200B'.repeat(100)}b`)).toContain(' U+200B and 92 more</span>b')
  })

  it('leaves an emoji alone', () => {
    expect(shown('ok ✔️')).toBe('ok ✔️')
  })

  it('is one line, and no longer than it may be', () => {
    expect(shown('a\n\n  b\tc')).toBe('a b c')
    expect(shown('x'.repeat(1000), 10)).toBe(`${'x'.repeat(9)}<span title="shortened">…</span>`)
  })
})

describe('a block of somebody else', () => {
  it('keeps its lines and says how much of it is not shown', () => {
    expect(String(html`${block('a\nb', 10)}`)).toBe('a\nb')
    expect(String(html`${block('x'.repeat(1500), 10)}`)).toContain('1,490 more characters are not shown')
  })
})

describe('JSON to be read', () => {
  it('is the same value, and nothing in it is hidden', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = prettyJson(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(text).not.toMatch(/(?![\n])[\p{Cc}\p{Cf}]/u)
      }),
    )
  })

  it('writes what would not show as an escape', () => {
    expect(prettyJson({ note: 'a\u202Eb\u{E0041}' })).toBe('{\n  "note": "a\\u202eb\\udb40\\udc41"\n}')
  })
})
