import { Fault } from '../../../core/errors.ts'
import { STATUSES, type Status } from '../../../core/transitions.ts'

/** A text to compare with; with isPrefix, the beginning of one. */
export interface Pattern {
  readonly text: string
  readonly isPrefix: boolean
}

/** A value in the payload. In quotes it stands for a string only, otherwise also for a number, true, false or null. */
export interface Value {
  readonly text: string
  readonly isQuoted: boolean
}

export type PatternName = 'type' | 'agent' | 'worker' | 'session'

/** One condition about a task. It holds if one of the alternatives does. */
export type Condition =
  | { readonly by: 'status'; readonly any: readonly Status[] }
  | { readonly by: PatternName; readonly any: readonly Pattern[] }
  | { readonly by: 'label'; readonly name: string; readonly any: readonly Pattern[] }
  | { readonly by: 'payload'; readonly path: readonly string[]; readonly any: readonly Value[] }
  | { readonly by: 'age'; readonly is: 'more' | 'less'; readonly ms: number }
  | { readonly by: 'id' | 'parent' | 'error'; readonly any: readonly string[] }
  | { readonly by: 'text'; readonly text: string }

/** A query consists of terms that all have to hold. */
export type Term = Condition & { readonly isNegated: boolean }

export const MAX_QUERY = 1000
const MAX_TERMS = 20
const MAX_ALTERNATIVES = 50

export const QUALIFIERS = [
  'type',
  'status',
  'agent',
  'worker',
  'session',
  'label.NAME',
  'payload.PATH',
  'age',
  'error',
  'id',
  'parent',
] as const

/** The terms of a query. Throws a fault that names the part that is wrong, and its position. */
export function parseQuery(query: string): readonly Term[] {
  const reader = new Reader(query)
  const terms: Term[] = []
  for (reader.skipSpace(); !reader.isAtEnd; reader.skipSpace()) {
    if (terms.length === MAX_TERMS) reader.refuse(reader.at, `has more than ${MAX_TERMS} terms`)
    terms.push(readTerm(reader))
  }
  return terms
}

/** One text of a query, without its quotation marks. */
interface Piece extends Value {
  readonly start: number
}

class Reader {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length
  }

  get next(): string {
    return this.#text.charAt(this.at)
  }

  skipSpace(): void {
    while (!this.isAtEnd && isSpace(this.next)) this.at++
  }

  /** Whether this character was next. It is then skipped. */
  take(character: string): boolean {
    if (this.next !== character) return false
    this.at++
    return true
  }

  /** A text in quotation marks, or everything up to a space, a quotation mark or one of the given characters. */
  piece(until: string): Piece {
    const start = this.at
    if (this.take('"')) return { text: this.#quoted(start), isQuoted: true, start }
    while (!this.isAtEnd && !isSpace(this.next) && this.next !== '"' && !until.includes(this.next)) this.at++
    return { text: this.#text.slice(start, this.at), isQuoted: false, start }
  }

  #quoted(start: number): string {
    let text = ''
    for (; !this.isAtEnd; this.at++) {
      if (this.next === '"') {
        this.at++
        return text
      }
      if (this.next === '\\') this.at++
      text += this.next
    }
    return this.refuse(start, 'has an opening quotation mark without a closing one')
  }

  /** Between two terms there is a space. */
  endTerm(start: number): void {
    if (!this.isAtEnd && !isSpace(this.next)) this.refuse(start, 'needs a space after the quotation mark')
  }

  refuse(start: number, problem: string): never {
    const [part = ''] = this.#text.slice(start).split(/\s/, 1)
    const where = part === '' ? 'at the end' : `at character ${start + 1}, ${part.slice(0, 80)}`
    throw new Fault(
      'VALIDATION_ERROR',
      { path: 'query', problem, position: start, length: part.length },
      `query: ${where}: ${problem}`,
    )
  }
}

function isSpace(character: string): boolean {
  return /\s/.test(character)
}

function readTerm(reader: Reader): Term {
  const start = reader.at
  const isNegated = reader.take('-')
  if (isNegated && (reader.isAtEnd || isSpace(reader.next))) {
    reader.refuse(start, 'excludes nothing: write a term directly after the minus sign')
  }
  const segments = readName(reader)
  if (reader.take(':')) {
    const condition = readQualifier(reader, start, segments)
    reader.endTerm(start)
    return { ...condition, isNegated }
  }
  const [first, ...others] = segments
  reader.endTerm(start)
  if (first === undefined || (others.length === 0 && first.text === '')) {
    reader.refuse(start, 'is an empty text')
  }
  const text = segments.map((segment) => segment.text).join('.')
  const isId = !first.isQuoted && others.length === 0 && isIdPrefix(text)
  return isId ? { by: 'id', any: [text], isNegated } : { by: 'text', text, isNegated }
}

/** The parts of a name between dots. A part with a dot, a colon or a space is in quotation marks. */
function readName(reader: Reader): readonly Piece[] {
  const segments = [reader.piece('.:')]
  while (reader.take('.')) segments.push(reader.piece('.:'))
  return segments
}

/** Text that looks like the beginning of a task id: eight hexadecimal digits, among them a decimal one. */
function isIdPrefix(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f-]*)?$/.test(text) && /\d/.test(text.slice(0, 8)) && text.length <= 36
}

function readQualifier(reader: Reader, start: number, segments: readonly Piece[]): Condition {
  const [first, ...rest] = segments
  const name = first === undefined || first.isQuoted ? '' : first.text
  const path = rest.map((segment) => segment.text)
  if (name === 'label' || name === 'payload') {
    if (path.length === 0 || path.includes('')) {
      reader.refuse(
        start,
        `needs ${name === 'label' ? 'the name of a label: label.NAME:VALUE' : 'a path: payload.NAME:VALUE'}`,
      )
    }
    const any = readAlternatives(reader, start)
    return name === 'label'
      ? { by: name, name: path.join('.'), any: any.map(patternOf) }
      : { by: name, path, any: any.map(({ text, isQuoted }) => ({ text, isQuoted })) }
  }
  if (path.length === 0) {
    switch (name) {
      case 'status':
        return { by: name, any: readAlternatives(reader, start).map((piece) => statusOf(reader, piece)) }
      case 'type':
      case 'agent':
      case 'worker':
      case 'session':
        return { by: name, any: readAlternatives(reader, start).map(patternOf) }
      case 'age':
        return ageOf(reader, reader.piece(''), start)
      case 'id':
      case 'parent':
        return { by: name, any: readAlternatives(reader, start).map((piece) => idOf(reader, piece)) }
      case 'error':
        return { by: name, any: readAlternatives(reader, start).map(({ text }) => text) }
    }
  }
  return reader.refuse(
    start,
    `unknown qualifier; use ${QUALIFIERS.join(', ')}, or put a text with a colon in quotation marks`,
  )
}

/** The values after the colon, separated by commas. */
function readAlternatives(reader: Reader, start: number): readonly Piece[] {
  const pieces: Piece[] = []
  do {
    const piece = reader.piece(',')
    if (piece.text === '' && !piece.isQuoted) reader.refuse(start, 'needs a value after the colon or comma')
    if (pieces.length === MAX_ALTERNATIVES) reader.refuse(start, `has more than ${MAX_ALTERNATIVES} values`)
    pieces.push(piece)
  } while (reader.take(','))
  return pieces
}

function patternOf({ text, isQuoted }: Piece): Pattern {
  const isPrefix = !isQuoted && text.endsWith('*')
  return { text: isPrefix ? text.slice(0, -1) : text, isPrefix }
}

function statusOf(reader: Reader, { text, start }: Piece): Status {
  const wanted = text === 'cancelled' ? 'canceled' : text
  const status = STATUSES.find((each) => each === wanted)
  return status ?? reader.refuse(start, `unknown status; use ${STATUSES.join(', ')}`)
}

function idOf(reader: Reader, { text, start }: Piece): string {
  const id = text.toLowerCase()
  return /^[0-9a-f-]{1,36}$/.test(id) ? id : reader.refuse(start, 'is not the beginning of a task id')
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function ageOf(reader: Reader, { text }: Piece, start: number): Condition {
  const [, sign, digits, unit = ''] = /^([<>])(\d{1,6})([smhd])$/.exec(text) ?? []
  const size = UNIT_MS[unit]
  if (size === undefined) {
    reader.refuse(start, 'is not an age; write age:>10m or age:<2h, with the units s, m, h and d')
  }
  return { by: 'age', is: sign === '>' ? 'more' : 'less', ms: Number(digits) * size }
}

/** The text of a query with these terms. */
export function formatQuery(terms: readonly Term[]): string {
  return terms.map((term) => `${term.isNegated ? '-' : ''}${formatCondition(term)}`).join(' ')
}

function formatCondition(term: Condition): string {
  switch (term.by) {
    case 'text':
      return isIdPrefix(term.text) || !isPlain(term.text) ? quoted(term.text) : term.text
    case 'age':
      return `age:${term.is === 'more' ? '>' : '<'}${ageText(term.ms)}`
    case 'label':
      return `label.${plainOrQuoted(term.name)}:${term.any.map(formatPattern).join(',')}`
    case 'payload':
      return `payload.${term.path.map(plainOrQuoted).join('.')}:${term.any.map(formatValue).join(',')}`
    case 'status':
      return `status:${term.any.join(',')}`
    case 'id':
    case 'parent':
    case 'error':
      return `${term.by}:${term.any.map(plainOrQuoted).join(',')}`
    default:
      return `${term.by}:${term.any.map(formatPattern).join(',')}`
  }
}

function formatPattern({ text, isPrefix }: Pattern): string {
  if (isPrefix) return `${text}*`
  return isValue(text) ? text : quoted(text)
}

function formatValue({ text, isQuoted }: Value): string {
  return isQuoted ? quoted(text) : text
}

function plainOrQuoted(text: string): string {
  return isPlain(text) ? text : quoted(text)
}

/** Whether a text means the same without quotation marks anywhere in a query. */
function isPlain(text: string): boolean {
  return /^[^\s",.:*\\-][^\s",.:*]*$/.test(text)
}

/** Whether a text means the same without quotation marks as the value of a pattern. */
function isValue(text: string): boolean {
  return /^[^\s",]+$/.test(text) && !text.endsWith('*')
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function ageText(ms: number): string {
  const [unit, size] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0) ?? ['s', 1000]
  return `${ms / size}${unit}`
}
