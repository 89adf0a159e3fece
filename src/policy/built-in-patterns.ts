import { type CompilePattern, type Pattern, type PatternDraft, REPLACEMENT } from './pattern.ts'

interface BuiltIn {
  readonly pattern: string
  readonly description: string
  readonly accepts?: (found: string) => boolean
}

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  email: {
    pattern: '[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+',
    description: 'Mail addresses',
  },
  phone: {
    pattern: '(?:\\+\\d{1,3}[ .-]?)?\\(?\\b\\d{3}\\)?[ .-]?\\d{3}[ .-]?\\d{4}\\b',
    description: 'Telephone numbers of ten digits, with or without a country',
  },
  ssn: { pattern: '\\b\\d{3}-\\d{2}-\\d{4}\\b', description: 'Social security numbers of the United States' },
  card: {
    pattern: '\\b\\d(?:[ -]?\\d){11,18}\\b',
    description: 'Numbers of payment cards; the check digit must fit',
    accepts: hasCardNumber,
  },
  api_key: { pattern: '\\b[A-Za-z0-9]{32,}\\b', description: 'Keys: 32 letters and digits or more' },
  bearer: {
    pattern: '(?i)\\bbearer\\s+[A-Za-z0-9._~+/-]+=*',
    description: 'Tokens as they stand in an Authorization header',
  },
  ipv4: {
    pattern: '\\b(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\b',
    description: 'Addresses of machines, as in 192.0.2.1',
  },
}

export const BUILT_IN_PATTERNS: readonly PatternDraft[] = Object.entries(BUILT_IN).map(
  ([name, { pattern, description }]) => ({
    name,
    pattern,
    replacement: REPLACEMENT,
    enabled: true,
    description,
  }),
)

export function isBuiltIn(name: string): boolean {
  return Object.hasOwn(BUILT_IN, name)
}

export function compileBuiltIns(compile: CompilePattern): Pattern[] {
  return BUILT_IN_PATTERNS.map((draft) => compile(draft, BUILT_IN[draft.name]?.accepts))
}

/** Whether consecutive groups of digits are a card number. */
function hasCardNumber(found: string): boolean {
  const groups = found.split(/[ -]/)
  return groups.some((_, from) =>
    groups.some((_, to) => to >= from && hasCheckDigit(groups.slice(from, to + 1).join(''))),
  )
}

/** The Luhn algorithm. */
function hasCheckDigit(digits: string): boolean {
  if (digits.length < 12 || digits.length > 19) return false
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}
