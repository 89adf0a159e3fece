import { isObject } from '../../util/guards.ts'

const MASK = '***'

/** Names of fields, without separators, whose values are secret. */
const SECRET_NAME = /(?:password|passwd|token|apikey|key|secret|authorization|cookie)$/

/** Names of fields, without separators, whose values are addresses of people. */
const EMAIL_NAME = /email(?:address)?$/

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
      .map(([name, member]) => [maskedText(name), maskedMember(name, member, depth)]),
  )
}

function maskedMember(name: string, member: unknown, depth: number): unknown {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (SECRET_NAME.test(plain) && member !== null) return MASK
  if (EMAIL_NAME.test(plain) && typeof member === 'string') return maskedEmail(maskedText(member))
  return masked(member, depth + 1)
}

/** The first character and the domain: enough to recognize an address that the reader knows. */
function maskedEmail(address: string): string {
  const at = address.lastIndexOf('@')
  if (at < 0) return MASK
  const [first = ''] = address.slice(0, at)
  return `${first}${MASK}${address.slice(at)}`
}

export function maskedText(text: string): string {
  let shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  for (const [pattern, replacement] of SECRET_VALUES) shown = shown.replace(pattern, replacement)
  return shown
}
