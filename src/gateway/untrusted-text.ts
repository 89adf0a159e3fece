const ESCAPE = '\u001b'
const BELL = '\u0007'

/** What terminals take as commands: CSI sequences, and OSC up to their end. */
const TERMINAL_COMMANDS = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)?`,
  'g',
)

/**
 * Characters that do not show: control characters but line feed and tab; format characters, which are the bidirectional
 * controls, the zero-width ones and the tags; and the variation selectors that can carry a hidden text.
 */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}]|[\u{E0100}-\u{E01EF}]/gu

/**
 * Words of somebody whom we do not trust, fit to be shown: no longer than `max`, and with nothing in them that a person
 * would not see and a model would. It does not make them true.
 */
export function cleanText(text: string, max: number): string {
  // Cut first, so that the cost is bounded too; what is removed may leave less than `max`.
  const head = text.slice(0, max * 2).toWellFormed()
  const clean = head.replace(TERMINAL_COMMANDS, '').replaceAll('\r\n', '\n').replace(INVISIBLE, '').trim()
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`
}

/** The same on a single line. */
export function cleanLine(text: string, max: number): string {
  return cleanText(text.slice(0, max * 2).replace(/\s+/gu, ' '), max)
}
