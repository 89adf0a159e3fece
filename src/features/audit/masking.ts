import { isObject } from '../../util/guards.ts'

const MASK = '***'

/** Names of fields, without separators, whose values are secret. */
const SECRET_NAME = /(?:password|passwd|token|apikey|key|secret|authorization|cookie)$/

/** Values that are secret under any name: issued keys, bearer tokens, signed tokens, passwords in URLs. */
const SECRET_VALUES: readonly [RegExp, string][] = [
  [/\b(ag[aw]_)[0-9A-Za-z]{16,}/g, `$1${MASK}`],
  [/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, `$1 ${MASK}`],
  [/\b(whsec_)[\w+/=-]{8,}/g, `$1${MASK}`],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, MASK],
  [/(:\/\/[^\s:/@]*:)[^\s/@]+@/g, `$1${MASK}@`],
]

/** What is shown of a value: levels of nesting, members of an object or array, and characters of a text. */
const MAX_DEPTH = 6
const MAX_MEMBERS = 50
const MAX_TEXT = 1_000

/** A copy in which secrets are replaced. It has only what JSON can express. */
export function masked(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return maskedText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return '…'
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => masked(item, depth + 1))
  if (!isObject(value)) return undefined
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_MEMBERS)
      .map(([name, member]) => [
        maskedText(name),
        isSecretName(name) && member !== null ? MASK : masked(member, depth + 1),
      ]),
  )
}

export function maskedText(text: string): string {
  let shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  for (const [pattern, replacement] of SECRET_VALUES) shown = shown.replace(pattern, replacement)
  return shown
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[^a-z]/g, ''))
}
