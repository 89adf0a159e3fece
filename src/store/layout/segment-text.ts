import { createHash } from 'node:crypto'

/** In place of a name, of parents or of a salt that a receipt does not have. */
export const NONE = '-'
/** Begins a reference to the line with the same body. */
export const SAME = '='
/** Begins a body that stands for an erased one. */
export const ERASED = '~'
/** Begins a list of salts; one text without it is what the salts are derived from. */
export const LISTED = ','

export const SALT_BYTES = 18
/** A salt is text: two hexadecimal digits per byte. */
const SALT_LENGTH = 2 * SALT_BYTES

/** The place of a name that a receipt does not have. */
const NO_PLACE = -1
const SPACE = ' '.charCodeAt(0)
const MINUS = '-'.charCodeAt(0)
const ZERO = '0'.charCodeAt(0)
const NINE = '9'.charCodeAt(0)

/**
 * The text of a segment, read line by line. What differs from the text that was written is refused, or changes what is
 * read: no change of the text goes unnoticed by those who compare hashes of the receipts.
 */
export class SegmentText {
  /** The places of the names of the selected line. */
  type = NO_PLACE
  from = NO_PLACE
  to = NO_PLACE
  task = NO_PLACE
  lease = NO_PLACE
  schedule = NO_PLACE
  readonly count: number
  readonly #lines: readonly string[]
  readonly #names: readonly string[]
  /** What the salts are derived from, or a list of them. */
  readonly #secret: string
  #salts: readonly string[] | undefined
  #line = ''
  /** Where the next field of the selected line begins. */
  #at = 0

  constructor(text: string) {
    const lines = text.split('\n')
    const [head = ''] = lines
    const end = head.lastIndexOf(']') + 1
    if (head.charCodeAt(end) !== SPACE) throw new Error('a segment of receipts has no salts')
    this.#lines = lines
    this.#names = JSON.parse(head.slice(0, end))
    this.#secret = head.slice(end + 1)
    this.count = lines.length - 1
  }

  /** Reads the places of the line of a receipt; the first one has the index 0. */
  select(index: number): void {
    this.#line = this.#lines[1 + index] ?? ''
    this.#at = 0
    this.type = this.#place()
    this.from = this.#place()
    this.to = this.#place()
    this.task = this.#place()
    this.lease = this.#place()
    this.schedule = this.#place()
  }

  /** The parents of the selected line. */
  parents(): number[] {
    const end = this.#line.indexOf(' ', this.#at)
    const list = this.#line.slice(this.#at, end)
    return list === NONE ? [] : list.split(',').map(Number)
  }

  isErased(): boolean {
    return this.#stored().startsWith(ERASED)
  }

  /** The body of the selected line, or what stands for it if it is erased. */
  body(): string {
    const stored = this.#stored()
    return stored.startsWith(ERASED) ? stored.slice(1) : stored
  }

  /** The body of a line with its mark if it is erased. */
  storedBody(index: number): string {
    this.select(index)
    return this.#stored()
  }

  name(place: number): string {
    const name = this.#names[place]
    if (name === undefined) throw new Error(`a receipt names ${place}, which its segment does not have`)
    return name
  }

  nameOrNull(place: number): string | null {
    return place === NO_PLACE ? null : this.name(place)
  }

  /** The secret salt of a receipt; undefined if its body is erased. */
  salt(index: number): string | undefined {
    this.#salts ??= saltsOf(this.#secret, this.count)
    const salt = this.#salts[index]
    return salt === NONE ? undefined : salt
  }

  #stored(): string {
    const body = afterParents(this.#line, this.#at)
    if (!body.startsWith(SAME)) return body
    const reference = Number(body.slice(SAME.length))
    if (`${SAME}${reference}` !== body) throw new Error('the body of a receipt is malformed')
    const other = this.#lines[1 + reference] ?? ''
    let at = 0
    for (let field = 0; field < NAMES; field++) at = other.indexOf(' ', at) + 1
    return afterParents(other, at)
  }

  #place(): number {
    const line = this.#line
    let at = this.#at
    let code = line.charCodeAt(at)
    let place = 0
    if (code === MINUS) {
      place = NO_PLACE
      at++
    } else {
      for (; code >= ZERO && code <= NINE; code = line.charCodeAt(++at)) place = place * 10 + code - ZERO
    }
    if (at === this.#at || line.charCodeAt(at) !== SPACE)
      throw new Error('the line of a receipt is malformed')
    this.#at = at + 1
    return place
  }
}

/** How many names a line has. Its parents and its body follow. */
const NAMES = 6

function afterParents(line: string, at: number): string {
  return line.slice(line.indexOf(' ', at) + 1)
}

function saltsOf(secret: string, count: number): string[] {
  if (secret.startsWith(LISTED)) return secret.slice(1).split(LISTED)
  const all = createHash('shake256', { outputLength: count * SALT_BYTES })
    .update(secret)
    .digest('hex')
  return Array.from({ length: count }, (_, i) => all.slice(i * SALT_LENGTH, (i + 1) * SALT_LENGTH))
}
