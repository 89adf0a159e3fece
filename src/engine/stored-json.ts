import { randomUUID } from 'node:crypto'
import {
  type CanonicalJson,
  canonical,
  type Json,
  type JsonObject,
  parseCanonical,
} from '../core/json/json.ts'
import { membersIn } from '../core/json/members.ts'
import { isObject } from '../util/guards.ts'
import { nextTurn } from '../util/turns.ts'

/** Shorter texts are cheaper to parse and serialize again than to embed. */
export const LARGE = 8 * 1024

/** Placeholder for an embedded text while the JSON around it is written. It is unknown outside of this process. */
const MARK = randomUUID()

/** The texts that the JSON being written embeds, in order; undefined while nothing is being written. */
let embedded: Iterable<string>[] | undefined

/**
 * The value of a stored text. A large object or array is parsed when it is first accessed. `writeJson` embeds its text
 * unparsed, so that a response with many large values costs neither their parsing nor their memory.
 */
export function storedJson(text: CanonicalJson): Json {
  if (text.length < LARGE) return parseCanonical(text)
  switch (text[0]) {
    case '{':
      return unparsed<JsonObject>({}, text)
    case '[':
      return unparsed<Json[]>([], text)
    default:
      return parseCanonical(text)
  }
}

export function storedOrNull(text: CanonicalJson | null): Json {
  return text === null ? null : storedJson(text)
}

/** The texts of values that were not parsed. */
const texts = new WeakMap<object, CanonicalJson>()

/** The canonical text of a value. A large stored value has it already. */
export function canonicalText(value: Json): CanonicalJson {
  const stored = typeof value === 'object' && value !== null ? texts.get(value) : undefined
  return stored ?? canonical(value)
}

/** The members of a stored object. Large ones are not parsed yet. */
export function storedMembers(text: CanonicalJson): JsonObject {
  if (text.length < LARGE) {
    const value = parseCanonical(text)
    return isObject(value) ? value : { value }
  }
  if (text[0] !== '{') return { value: storedJson(text) }
  return Object.fromEntries(membersIn(text).map(([name, member]) => [name, storedJson(member)]))
}

/** An object or array that is parsed when it is first accessed. */
function unparsed<T extends object>(target: T, text: CanonicalJson): T {
  let isParsed = false
  const filled = (): T => {
    if (!isParsed) Object.assign(target, parseCanonical(text))
    isParsed = true
    return target
  }
  const embed = () => {
    embedded?.push([text])
    return MARK
  }
  const proxy = new Proxy(target, {
    get: (_, key) => (key === 'toJSON' && embedded !== undefined ? embed : Reflect.get(filled(), key)),
    has: (_, key) => Reflect.has(filled(), key),
    ownKeys: () => Reflect.ownKeys(filled()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(filled(), key),
    set: (_, key, value) => Reflect.set(filled(), key, value),
    defineProperty: (_, key, descriptor) => Reflect.defineProperty(filled(), key, descriptor),
    deleteProperty: (_, key) => Reflect.deleteProperty(filled(), key),
    preventExtensions: () => Reflect.preventExtensions(filled()),
  })
  texts.set(proxy, text)
  return proxy
}

/** The JSON of a value in pieces, to be written one by one. */
export class JsonPieces implements Iterable<string> {
  readonly #frames: readonly string[]
  readonly #embedded: readonly Iterable<string>[]

  constructor(frames: readonly string[], texts: readonly Iterable<string>[]) {
    this.#frames = frames
    this.#embedded = texts
  }

  /** Characters of all pieces. A quoted piece counts without its escapes. */
  get length(): number {
    let length = 0
    for (const frame of this.#frames) length += frame.length
    for (const text of this.#embedded) length += lengthOf(text)
    return length
  }

  /** These pieces between two texts. */
  enclosed(head: string, tail: string): JsonPieces {
    return new JsonPieces([head, tail], [this])
  }

  *[Symbol.iterator](): Iterator<string> {
    for (const [i, frame] of this.#frames.entries()) {
      yield frame
      const text = this.#embedded[i]
      if (text !== undefined) yield* text
    }
  }
}

function lengthOf(text: Iterable<string>): number {
  if (text instanceof JsonPieces || text instanceof QuotedPieces) return text.length
  let length = 0
  for (const piece of text) length += piece.length
  return length
}

/** The JSON of a value: one text, or pieces if it embeds large stored texts. */
export function writeJson(value: object): string | JsonPieces {
  const texts: Iterable<string>[] = []
  const outer = embedded
  embedded = texts
  try {
    const frame = JSON.stringify(value)
    return texts.length === 0 ? frame : new JsonPieces(frame.split(`"${MARK}"`), texts)
  } finally {
    embedded = outer
  }
}

/** The JSON of a value as one text. */
export function jsonText(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const written = writeJson(value)
  return typeof written === 'string' ? written : [...written].join('')
}

/** A property `text` with the JSON in it as a string, which `writeJson` embeds piece by piece. */
export function withText<T extends object>(block: T, pieces: JsonPieces): T & { readonly text: string } {
  const text = {
    enumerable: true,
    get: () => {
      if (embedded === undefined) return [...pieces].join('')
      embedded.push(new QuotedPieces(pieces))
      return MARK
    },
  }
  return Object.defineProperty<T & { readonly text: string }>({ ...block, text: '' }, 'text', text)
}

/** The pieces as one JSON string. */
class QuotedPieces implements Iterable<string> {
  readonly #pieces: JsonPieces

  constructor(pieces: JsonPieces) {
    this.#pieces = pieces
  }

  get length(): number {
    return this.#pieces.length
  }

  *[Symbol.iterator](): Iterator<string> {
    yield '"'
    for (const piece of this.#pieces) yield JSON.stringify(piece).slice(1, -1)
    yield '"'
  }
}

/** The pieces as bytes. It yields to the event loop after each large chunk. */
export async function* inTurns(pieces: Iterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: string[] = []
  let length = 0
  for (const piece of pieces) {
    waiting.push(piece)
    length += piece.length
    if (length < TURN) continue
    yield Buffer.from(waiting.join(''))
    waiting = []
    length = 0
    await nextTurn()
  }
  if (length > 0) yield Buffer.from(waiting.join(''))
}

/** Characters that are written in one turn of the event loop. */
const TURN = 256 * 1024
