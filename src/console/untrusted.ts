import { oneLine, pieces } from '../util/untrusted-text.ts'
import { type Content, html } from './html.ts'

const MAX_LINE = 200

/** One line of untrusted text with its hidden characters marked, cut to `max` characters. */
export function line(text: string, max: number = MAX_LINE): Content {
  const { line, isCut } = oneLine(text, max)
  return isCut ? [visible(line), html`<span title="shortened">…</span>`] : visible(line)
}

/** Untrusted text of several lines. Beyond `max` characters the number of missing ones is shown instead. */
export function block(text: string, max: number): Content {
  if (text.length <= max) return visible(text)
  return [
    visible(text.slice(0, max)),
    html`<strong class="cut">… ${count(text.length - max)} more characters are not shown</strong>`,
  ]
}

function visible(text: string): Content {
  return Array.from(pieces(text), (piece) =>
    'text' in piece ? piece.text : html`<span class="hidden-char">${piece.hidden}</span>`,
  )
}

export function count(number: number): string {
  return number.toLocaleString('en-US')
}
