import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { block, line } from '../../src/console/components.ts'
import { html, nothing } from '../../src/util/html.ts'

describe('html', () => {
  it('html escapes text', () => {
    const hostile = `<img src=x onerror="alert('1')">&amp;`
    expect(String(html`<p title="${hostile}">${hostile}</p>`)).toBe(
      '<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;">&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;</p>',
    )
  })

  it('html does not escape the result of another template, alone and in lists', () => {
    const items = ['<a>', '<b>'].map((text) => html`<li>${text}</li>`)
    expect(String(html`<ul>${items}</ul>`)).toBe('<ul><li>&lt;a&gt;</li><li>&lt;b&gt;</li></ul>')
  })

  it('html omits null, undefined and false, and shows 0', () => {
    expect(String(html`[${null}${undefined}${false}${nothing}${0}]`)).toBe('[0]')
  })

  it('text can never end its element or attribute', () => {
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

describe('line', () => {
  it('line marks hidden characters', () => {
    expect(shown('a\u200B\u202Eb')).toBe('a<span class="hidden-char">U+200B U+202E</span>b')
    expect(shown('ok ✔️')).toBe('ok ✔️')
  })

  it('line joins lines and cuts at the limit', () => {
    expect(shown('a\n\n  b\tc')).toBe('a b c')
    expect(shown('x'.repeat(1000), 10)).toBe(`${'x'.repeat(9)}<span title="shortened">…</span>`)
  })
})

describe('block', () => {
  it('block preserves line breaks and says how many characters are not shown', () => {
    expect(String(html`${block('a\nb', 10)}`)).toBe('a\nb')
    expect(String(html`${block('x'.repeat(1500), 10)}`)).toContain('1,490 more characters are not shown')
  })
})
