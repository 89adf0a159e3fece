import { type Fault, invalid } from '../errors.ts'
import { type Json, MAX_DEPTH } from './json.ts'
import { endOfString, isBlank, shorten } from './string.ts'

/** A value, and the first thing that is wrong with its text although it is JSON. */
export interface Reading {
  readonly value: Json
  readonly flaw?: Fault
}

/** A text that is nested deeper is not read to its end. */
const ABSURD_DEPTH = 10_000

/** What a text may be, besides JSON. */
export interface JsonLimits {
  readonly maxDepth: number
  /** Down to this level objects hold named fields, and are narrow. */
  readonly fieldDepth: number
}

/** More members than this no object has that holds named fields. Schemas look at each of them. */
export const MAX_FIELDS = 1_000

/** What a single object can hold without keeping the process busy when it is sorted or copied. */
export const MAX_MEMBERS = 65_536

/** Values between two pauses: a few milliseconds of work. */
const VALUES_PER_STEP = 2_048

/**
 * Reads JSON text from its beginning to its end once, pausing every few milliseconds. A flaw does not end the reading:
 * of a repeated key the last value counts, and what is nested too deep is null. An object with too many members, or
 * absurd nesting, does end it, with a fault.
 */
export function* readJson(text: string, limits: JsonLimits): Generator<void, Reading> {
  const reader = new Reader(text, limits)
  while (!reader.read(VALUES_PER_STEP)) yield
  return reader.reading()
}

/** An array or object whose end has not been read. */
interface Level {
  readonly list: Json[] | undefined
  readonly object: { [key: string]: Json } | undefined
  /** Where the next value goes. */
  key: string
  members: number
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

class Reader {
  readonly #text: string
  readonly #limits: JsonLimits
  readonly #levels: Level[] = []
  #top: Level | undefined
  #at = 0
  #value: Json = null
  #isOver = false
  #flaw: Fault | undefined

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
  }

  reading(): Reading {
    return { value: this.#value, ...(this.#flaw && { flaw: this.#flaw }) }
  }

  /** Reads up to `count` further values. Returns true at the end of the text. */
  read(values: number): boolean {
    for (let left = values; left > 0 && !this.#isOver; left--) this.#readValue()
    return this.#isOver
  }

  /** The next value, or the beginning of one that has parts. */
  #readValue(): void {
    const code = this.#next()
    switch (code) {
      case 0x7b /* { */:
        this.#open({ list: undefined, object: {}, key: '', members: 0 })
        if (this.#take(0x7d /* } */)) this.#close()
        else this.#readKey()
        return
      case 0x5b /* [ */:
        this.#open({ list: [], object: undefined, key: '', members: 0 })
        if (this.#take(0x5d /* ] */)) this.#close()
        return
      case 0x22 /* " */:
        this.#add(this.#string())
        return
      case 0x74 /* t */:
        this.#add(this.#word('true', true))
        return
      case 0x66 /* f */:
        this.#add(this.#word('false', false))
        return
      case 0x6e /* n */:
        this.#add(this.#word('null', null))
        return
      default:
        this.#add(this.#number())
    }
  }

  #open(level: Level): void {
    this.#at++
    this.#levels.push(level)
    this.#top = level
    if (this.#levels.length <= this.#limits.maxDepth) return
    const tooDeep = () => invalid('', `is nested deeper than ${MAX_DEPTH}`)
    if (this.#levels.length > ABSURD_DEPTH) throw tooDeep()
    this.#flaw ??= tooDeep()
  }

  #close(): void {
    const isKept = this.#levels.length <= this.#limits.maxDepth
    const level = this.#levels.pop()
    this.#top = this.#levels.at(-1)
    this.#add(isKept ? (level?.list ?? level?.object ?? null) : null)
  }

  /** Puts a value in its place, and reads what stands between it and the next. */
  #add(value: Json): void {
    const top = this.#top
    if (top === undefined) {
      this.#value = value
      this.#isOver = true
      if (!Number.isNaN(this.#next())) throw notJson()
      return
    }
    if (top.list) top.list.push(value)
    // The key `__proto__` would not become a member, and has been refused.
    else if (top.object && top.key !== '__proto__') top.object[top.key] = value
    if (this.#take(0x2c /* , */)) {
      if (top.object) this.#readKey()
      return
    }
    if (!this.#take(top.list ? 0x5d /* ] */ : 0x7d /* } */)) throw notJson()
    this.#close()
  }

  #readKey(): void {
    if (this.#next() !== 0x22 /* " */) throw notJson()
    const key = this.#string()
    const top = this.#top
    if (top?.object === undefined || !this.#take(0x3a /* : */)) throw notJson()
    if (++top.members > this.#maxMembers()) throw tooWide(this.#maxMembers())
    if (key === '__proto__') this.#flaw ??= invalid(key, 'is not an allowed key')
    else if (Object.hasOwn(top.object, key)) {
      this.#flaw ??= invalid(shorten(key), 'appears twice in one object')
    }
    top.key = key
  }

  #maxMembers(): number {
    return this.#levels.length <= this.#limits.fieldDepth ? MAX_FIELDS : MAX_MEMBERS
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at)
    const quoted = this.#text.slice(this.#at, end)
    this.#at = end
    try {
      return JSON.parse(quoted)
    } catch {
      throw notJson()
    }
  }

  #word(word: string, value: Json): Json {
    if (!this.#text.startsWith(word, this.#at)) throw notJson()
    this.#at += word.length
    return value
  }

  #number(): number {
    NUMBER.lastIndex = this.#at
    const token = NUMBER.exec(this.#text)?.[0]
    if (token === undefined) throw notJson()
    this.#at += token.length
    const number = Number(token)
    if (!Number.isFinite(number)) {
      this.#flaw ??= invalid('', `contains ${shorten(token)}, which is not a finite number`)
    } else if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
      this.#flaw ??= invalid('', `contains ${shorten(token)}, an integer beyond 2^53; send it as a string`)
    }
    return number
  }

  /** The next character that is not blank; NaN at the end of the text. */
  #next(): number {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#text.charCodeAt(this.#at)
  }

  /** Goes past the character if it is the next one. */
  #take(code: number): boolean {
    if (this.#next() !== code) return false
    this.#at++
    return true
  }
}

function tooWide(limit: number): Fault {
  return invalid(
    '',
    `has an object with more than ${limit} members; send a list, or upload the value as a file`,
  )
}

export function notJson(): Fault {
  return invalid('', 'is not valid JSON')
}
