import { isDeepStrictEqual } from 'node:util'
import type { JsonValue, SettingsEditor, Step } from './settings-text.ts'
import { UnsafeEdit } from './settings-text.ts'

interface Element {
  /** The key of a member; undefined for an item of an array. */
  readonly key: string | undefined
  readonly start: number
  readonly node: Node
  /** The position of the comma after the element. */
  readonly comma: number | undefined
}

interface Node {
  readonly start: number
  readonly end: number
  readonly value: unknown
  readonly kind: 'object' | 'array' | 'scalar'
  readonly elements: readonly Element[]
}

const MAX_DEPTH = 100

/** Edits JSON with comments and trailing commas. All other text, including comments and order, stays as it was. */
export const jsonc: SettingsEditor = {
  set(text, path, value) {
    const root = new Parser(text).parse()
    const eol = text.includes('\r\n') ? '\r\n' : '\n'
    const unit = indentUnit(text, root)
    const write = (written: unknown, indent: string) =>
      JSON.stringify(written, null, unit).replaceAll('\n', eol + indent)
    if (root === undefined) {
      const before = text.trim() === '' ? '' : text.trimEnd() + eol
      return `${before}${write(nested(path, value), '')}${eol}`
    }
    let node = root
    for (const [i, step] of path.entries()) {
      const found = elementAt(node, step)
      if (found === undefined) {
        const missing = write(nested(path.slice(i + 1), value), childIndent(text, node, unit))
        const added = typeof step === 'string' ? `${JSON.stringify(step)}: ${missing}` : missing
        return insert(text, node, added, unit, eol)
      }
      node = found.node
    }
    if (isDeepStrictEqual(node.value, value)) return text
    return text.slice(0, node.start) + write(value, lineIndent(text, node.start)) + text.slice(node.end)
  },

  remove(text, path) {
    let node = new Parser(text).parse()
    let cut = text
    for (const [i, step] of path.entries()) {
      const found = node && elementAt(node, step)
      if (node === undefined || found === undefined) return text
      if (i === path.length - 1) cut = withoutElement(text, node, found)
      node = found.node
    }
    return cut
  },
}

function nested(path: readonly Step[], value: JsonValue): JsonValue {
  return path.reduceRight<JsonValue>(
    (inner, step) => (typeof step === 'string' ? { [step]: inner } : [inner]),
    value,
  )
}

function elementAt({ kind, elements }: Node, step: Step): Element | undefined {
  if (kind !== (typeof step === 'string' ? 'object' : 'array')) {
    const expected = typeof step === 'string' ? 'an object' : 'an array'
    throw new UnsafeEdit(`${expected} is expected where ${stepName(step)} belongs`)
  }
  const found = elements.filter(({ key, node }) =>
    typeof step === 'string' ? key === step : idOf(node) === step.id,
  )
  if (found.length > 1) throw new UnsafeEdit(`${stepName(step)} occurs more than once`)
  return found[0]
}

function stepName(step: Step): string {
  return JSON.stringify(typeof step === 'string' ? step : step.id)
}

function idOf({ elements }: Node): unknown {
  return elements.find(({ key }) => key === 'id')?.node.value
}

function insert(text: string, parent: Node, added: string, unit: string, eol: string): string {
  const last = parent.elements.at(-1)
  const isContinued = last?.comma !== undefined
  const lastEnd = last === undefined ? parent.start + 1 : (last.comma ?? last.node.end - 1) + 1
  const close = parent.end - 1
  // After the comments that follow the last element.
  const at = lastEnd + text.slice(lastEnd, close).trimEnd().length
  const rest = text.slice(at, close)
  return [
    text.slice(0, lastEnd),
    last === undefined || isContinued ? '' : ',',
    text.slice(lastEnd, at),
    eol,
    childIndent(text, parent, unit),
    added,
    isContinued ? ',' : '',
    rest.includes('\n') ? rest : eol + lineIndent(text, parent.start),
    text.slice(close),
  ].join('')
}

function withoutElement(text: string, { elements }: Node, { start, node, comma }: Element): string {
  const before = elements[elements.findIndex((element) => element.start === start) - 1]
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const end = (comma ?? node.end - 1) + 1
  const [lineRest = ''] = /^[^\S\n]*(?:\n|$)/.exec(text.slice(end)) ?? []
  const isWholeLine = text.slice(lineStart, start).trim() === '' && lineRest !== ''
  const cut = isWholeLine ? [lineStart, end + lineRest.length] : [start, end]
  const rest = text.slice(cut[1])
  if (comma !== undefined || before?.comma === undefined) return text.slice(0, cut[0]) + rest
  // The element before becomes the last one.
  return text.slice(0, before.comma) + text.slice(before.comma + 1, cut[0]) + rest
}

function childIndent(text: string, { start, elements: [first] }: Node, unit: string): string {
  const isOnOwnLine = first !== undefined && text.slice(start, first.start).includes('\n')
  return isOnOwnLine ? lineIndent(text, first.start) : lineIndent(text, start) + unit
}

function lineIndent(text: string, at: number): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? ''
}

/** The indentation of the first member. */
function indentUnit(text: string, root: Node | undefined): string {
  const [first] = root?.elements ?? []
  if (root === undefined || first === undefined || !text.slice(root.start, first.start).includes('\n'))
    return '  '
  return lineIndent(text, first.start) || '  '
}

const STRING = /"(?:[^"\\\r\n]|\\.)*"/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The value of the text; undefined if it has none. */
  parse(): Node | undefined {
    this.#skip()
    if (this.#at === this.#text.length) return undefined
    const root = this.#value(0)
    this.#skip()
    if (this.#at < this.#text.length) throw this.#problem('the end of the file')
    return root
  }

  #value(depth: number): Node {
    if (depth > MAX_DEPTH) throw new UnsafeEdit('it is nested too deeply')
    const start = this.#at
    const first = this.#text[start]
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    const scalar = this.#match(SCALAR)
    const value = scalar === undefined ? this.#string('a value') : JSON.parse(scalar)
    return { start, end: this.#at, value, kind: 'scalar', elements: [] }
  }

  #object(depth: number): Node {
    const start = this.#at
    const elements = this.#elements('}', () => {
      const keyStart = this.#at
      const key = this.#string('a key in double quotes')
      this.#skip()
      if (this.#text[this.#at] !== ':') throw this.#problem('":"')
      this.#at += 1
      this.#skip()
      return { key, start: keyStart, node: this.#value(depth + 1) }
    })
    const value = Object.fromEntries(elements.map(({ key, node }) => [key, node.value]))
    return { start, end: this.#at, value, kind: 'object', elements }
  }

  #array(depth: number): Node {
    const start = this.#at
    const elements = this.#elements(']', () => {
      const node = this.#value(depth + 1)
      return { key: undefined, start: node.start, node }
    })
    return { start, end: this.#at, value: elements.map(({ node }) => node.value), kind: 'array', elements }
  }

  #elements(close: '}' | ']', read: () => Omit<Element, 'comma'>): Element[] {
    const elements: Element[] = []
    this.#at += 1
    for (;;) {
      this.#skip()
      if (this.#text[this.#at] === close) break
      const element = read()
      this.#skip()
      const isFollowed = this.#text[this.#at] === ','
      elements.push({ ...element, comma: isFollowed ? this.#at : undefined })
      if (isFollowed) this.#at += 1
      else if (this.#text[this.#at] !== close) throw this.#problem(`"," or "${close}"`)
    }
    this.#at += 1
    return elements
  }

  #string(expected: string): string {
    const start = this.#at
    const written = this.#match(STRING)
    try {
      if (written !== undefined) return String(JSON.parse(written))
    } catch {
      this.#at = start
    }
    throw this.#problem(expected)
  }

  #skip(): void {
    this.#match(SPACE)
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? []
    if (found !== undefined) this.#at += found.length
    return found
  }

  #problem(expected: string): UnsafeEdit {
    const lines = this.#text.slice(0, this.#at).split('\n')
    return new UnsafeEdit(
      `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: ${expected} is expected`,
    )
  }
}
