import type { Page } from 'playwright-core'

/** The accessibility problems of a page. */
export function inspect(page: Page): Promise<string[]> {
  return page.evaluate(FINDINGS)
}

/** Runs in the page. */
const FINDINGS = `(() => {
  const found = []
  const say = (problem, element) => found.push(problem + ': ' + element.outerHTML.slice(0, 120))
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })

  for (const [tag, count] of [['h1', 1], ['main', 1], ['title', 1]]) {
    const all = document.querySelectorAll(tag)
    if (all.length !== count) found.push(all.length + ' of ' + tag)
  }
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push('id twice: ' + id)

  const nameOf = (element) => {
    const by = (element.getAttribute('aria-labelledby') ?? '').split(' ').filter(Boolean)
    const labels = [...(element.labels ?? [])].map((label) => label.textContent)
    return [...by.map((id) => document.getElementById(id)?.textContent ?? ''), element.getAttribute('aria-label') ?? '', ...labels, ...(element.matches('input, select, textarea') ? [] : [element.textContent])].join('').trim()
  }
  const named = 'a, button, input:not([type=hidden]), select, textarea, summary, meter, progress, nav, [role=region], [role=search]'
  for (const element of document.querySelectorAll(named)) if (nameOf(element) === '') say('no name', element)
  for (const element of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
    for (const attribute of ['aria-describedby', 'aria-labelledby']) {
      for (const id of (element.getAttribute(attribute) ?? '').split(' ').filter(Boolean)) {
        if (document.getElementById(id) === null) say('names what is not there', element)
      }
    }
  }
  let level = 0
  for (const heading of document.querySelectorAll('main :is(h1, h2, h3, h4)')) {
    const next = Number(heading.tagName[1])
    if (next > level + 1) say('skips a level of headings', heading)
    level = next
  }

  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number)
    return { r, g, b, a }
  }
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 })
  const groundOf = (element) => {
    const layers = []
    for (let at = element; at !== null; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor))
    return layers.reverse().reduce((under, layer) => over(layer, under), { r: 255, g: 255, b: 255, a: 1 })
  }
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.textContent.trim() === '' || !seen(element) || element.closest('.quiet, .skip, :disabled')) continue
    const ground = groundOf(element)
    const [one, other] = [light(over(parse(getComputedStyle(element).color), ground)), light(ground)]
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    if (contrast < 4.5) say('contrast ' + contrast.toFixed(2), element)
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the window by ' + (document.documentElement.scrollWidth - innerWidth))
  return found
})()`
