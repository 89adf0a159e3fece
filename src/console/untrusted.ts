import { type Content, html } from './html.ts'

/**
 * Characters that do not show, or that change how their neighbours show: control characters but line feed and tab,
 * format characters (the bidirectional and zero-width ones, the tags), line separators, and variation selectors.
 */
const HIDDEN =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]|[\u{FE00}-\u{FE0E}]|[\u{E0100}-\u{E01EF}]|(?<!\p{Extended_Pictographic})\u{FE0F}/gu

/** As it stands in a text that may be cut off anywhere. */
const MAX_LINE = 200

/** One line of somebody whom we do not trust: bounded, and what does not show is shown. */
export function line(text: string, max: number = MAX_LINE): Content {
  const flat = text
    .slice(0, max * 2)
    .replace(/\s+/gu, ' ')
    .trim()
  return flat.length <= max
    ? visible(flat)
    : [visible(flat.slice(0, max - 1)), html`<span title="shortened">…</span>`]
}

/** The same where there is no place for markup: in titles and labels. */
export function plainLine(text: string, max: number = MAX_LINE): string {
  const flat = text
    .slice(0, max * 2)
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(HIDDEN, codePoint)
  return flat.length <= max ? flat : `${flat.slice(0, max - 1)}…`
}

/** A text of several lines, shown in whole up to `max`; beyond that the reader is told what is missing. */
export function block(text: string, max: number): Content {
  if (text.length <= max) return visible(text)
  return [
    visible(text.slice(0, max)),
    html`<strong class="cut">… ${count(text.length - max)} more characters are not shown</strong>`,
  ]
}

const HIDDEN_RUN = new RegExp(`(?:${HIDDEN.source})+`, 'gu')

/** What is shown of many hidden characters in a row. */
const MAX_SHOWN = 8

/** The text with the code points in the place of characters that would not show. */
function visible(text: string): Content {
  const pieces: Content[] = []
  let from = 0
  for (const { 0: run, index } of text.matchAll(HIDDEN_RUN)) {
    pieces.push(text.slice(from, index), html`<span class="hidden-char">${codePoints(run)}</span>`)
    from = index + run.length
  }
  return from === 0 ? text : [...pieces, text.slice(from)]
}

function codePoints(run: string): string {
  const characters = Array.from(run)
  const shown = characters.slice(0, MAX_SHOWN).map(codePoint).join(' ')
  const more = characters.length - MAX_SHOWN
  return more > 0 ? `${shown} and ${count(more)} more` : shown
}

function codePoint(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

/** JSON to be read: the same value, with every hidden character written as an escape. */
export function prettyJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return text.replace(HIDDEN, escaped)
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    const unit = character.charCodeAt(i)
    return `\\u${unit.toString(16).padStart(4, '0')}`
  }).join('')
}

export function count(number: number): string {
  return number.toLocaleString('en-US')
}
