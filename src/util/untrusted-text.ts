/**
 * Characters that a reader does not see, or that change how their neighbours are displayed: control characters except
 * line feed and tab, format characters (bidirectional controls, zero-width characters, tags), unpaired surrogates,
 * private-use and unassigned code points, line and paragraph separators, and default-ignorable code points such as
 * variation selectors and Hangul fillers. The emoji variation selector is allowed directly after an emoji.
 */
const HIDDEN =
  /(?![\n\t]|(?<=\p{Extended_Pictographic})\uFE0F)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
const EACH_HIDDEN = new RegExp(HIDDEN.source, 'gu')
const HIDDEN_RUNS = new RegExp(`(?:${HIDDEN.source})+`, 'gu')

const ESCAPE = '\u001b'
const BELL = '\u0007'

/** Terminal control sequences: CSI, and OSC up to its terminator. */
const TERMINAL_SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)?`,
  'g',
)

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text)
}

/** Text from an untrusted source with hidden characters removed, for readers such as models; at most `max` characters. */
export function cleanText(text: string, max: number): string {
  // Truncating first bounds the cost. The characters removed afterwards may leave fewer than `max`.
  const head = text.slice(0, max * 2).toWellFormed()
  const clean = head.replace(TERMINAL_SEQUENCES, '').replaceAll('\r\n', '\n').replace(EACH_HIDDEN, '').trim()
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`
}

/** `cleanText` on a single line. */
export function cleanLine(text: string, max: number): string {
  return cleanText(text.slice(0, max * 2).replace(/\s+/gu, ' '), max)
}

/** A piece of a text: characters to display, or the code points of a run of hidden ones. */
export type Piece = { readonly text: string } | { readonly hidden: string }

/** Code points listed for one run of hidden characters. */
const MAX_CODE_POINTS = 8

/** Splits a text into what is displayed and what is hidden, so that a person sees everything that a program receives. */
export function* pieces(text: string): Generator<Piece> {
  let from = 0
  for (const { 0: run, index } of text.matchAll(HIDDEN_RUNS)) {
    if (index > from) yield { text: text.slice(from, index) }
    yield { hidden: codePoints(run) }
    from = index + run.length
  }
  if (from < text.length) yield { text: text.slice(from) }
}

function codePoints(run: string): string {
  const characters = Array.from(run)
  const shown = characters.slice(0, MAX_CODE_POINTS).map(codePoint).join(' ')
  const more = characters.length - MAX_CODE_POINTS
  return more > 0 ? `${shown} and ${more.toLocaleString('en-US')} more` : shown
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** The whole text as plain text, with the code points of hidden characters in brackets. */
export function visibleText(text: string): string {
  return Array.from(pieces(text), (piece) => ('text' in piece ? piece.text : `[${piece.hidden}]`)).join('')
}

/** One line of at most `max` characters, and whether the text was longer. Hidden characters are still in it. */
export function oneLine(text: string, max: number): { readonly line: string; readonly isCut: boolean } {
  const line = text
    .slice(0, max * 2)
    .replace(/[\n\r\t\p{Zs}]+/gu, ' ')
    .trim()
  return line.length <= max ? { line, isCut: false } : { line: line.slice(0, max - 1), isCut: true }
}

/** `visibleText` on a single line; `max` counts the characters of the text. */
export function visibleLine(text: string, max: number): string {
  const { line, isCut } = oneLine(text, max)
  return `${visibleText(line)}${isCut ? '…' : ''}`
}

/** JSON of the same value in which every hidden character is written as an escape. */
export function visibleJson(value: unknown, indent = 2): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(EACH_HIDDEN, escaped)
}

function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
  ).join('')
}
