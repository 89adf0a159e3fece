import { isDeepStrictEqual } from 'node:util'
import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type JSONVisitor,
  type Node,
  parseTree,
  printParseErrorCode,
  visit,
} from 'jsonc-parser'
import type { JsonValue, SettingsEditor, Step } from './settings-text.ts'
import { UnsafeEdit } from './settings-text.ts'

const MAX_DEPTH = 100
const OPTIONS = { allowTrailingComma: true, allowEmptyContent: true }
const EXPECTED: Readonly<Partial<Record<ReturnType<typeof printParseErrorCode>, string>>> = {
  ColonExpected: '":"',
  CommaExpected: '","',
  CloseBraceExpected: '"}"',
  CloseBracketExpected: '"]"',
  EndOfFileExpected: 'the end of the file',
}

interface Found {
  readonly parent: Node
  readonly element: Node | undefined
  readonly step: Step
  readonly rest: readonly Step[]
}

/**
 * Edits JSON with comments and trailing commas. All other text, including comments and order, stays as it was; `modify`
 * of the package removes comments next to an element and formats other elements of its line.
 */
export const jsonc: SettingsEditor = {
  set(text, path, value) {
    const root = parse(text)
    const eol = text.includes('\r\n') ? '\r\n' : '\n'
    const unit = (root && childIndent(text, root, '')) || '  '
    const write = (written: JsonValue, indent: string) =>
      JSON.stringify(written, null, unit).replaceAll('\n', eol + indent)
    if (root === undefined) {
      const comments = text.trim() === '' ? '' : text.trimEnd() + eol
      return `${comments}${write(nested(path, value), '')}${eol}`
    }
    const { parent, element, step, rest } = locate(root, path)
    if (element === undefined) {
      const indent = childIndent(text, parent, unit)
      const key = typeof step === 'string' ? `${JSON.stringify(step)}: ` : ''
      return insert(text, parent, key + write(nested(rest, value), indent), indent, eol)
    }
    const current = valueNode(element)
    // Objects of the package have no prototype; their clones do.
    if (isDeepStrictEqual(structuredClone(getNodeValue(current)), value)) return text
    const { offset, length } = current
    return applyEdits(text, [{ offset, length, content: write(value, lineIndent(text, offset)) }])
  },

  remove(text, path) {
    const root = parse(text)
    if (root === undefined) return text
    const { parent, element } = locate(root, path)
    return element === undefined ? text : withoutElement(text, parent, element)
  },
}

/** The value of the text; undefined if it has none. */
function parse(text: string): Node | undefined {
  // The package does not skip a byte order mark.
  const json = text.replace(/^\uFEFF/, ' ')
  let depth = 0
  const nest = (by: number) => () => {
    depth += by
    if (depth > MAX_DEPTH) throw new UnsafeEdit('it is nested too deeply')
  }
  const onError: JSONVisitor['onError'] = (code, _offset, _length, line, column) => {
    const expected = EXPECTED[printParseErrorCode(code)] ?? 'a key in double quotes or a value'
    throw new UnsafeEdit(`line ${line + 1}, column ${column + 1}: ${expected} is expected`)
  }
  const [onBegin, onEnd] = [nest(1), nest(-1)]
  const containers = { onObjectBegin: onBegin, onObjectEnd: onEnd, onArrayBegin: onBegin, onArrayEnd: onEnd }
  visit(json, { ...containers, onError }, OPTIONS)
  return parseTree(json, [], OPTIONS)
}

/** Follows a path to its element, which is a member of an object or an item of an array, or to the first step without one. */
function locate(parent: Node, [step, ...rest]: readonly Step[]): Found {
  if (step === undefined) throw new UnsafeEdit('the path is empty')
  const isKey = typeof step === 'string'
  const name = JSON.stringify(isKey ? step : step.id)
  if (parent.type !== (isKey ? 'object' : 'array'))
    throw new UnsafeEdit(`${isKey ? 'an object' : 'an array'} is expected where ${name} belongs`)
  const [element, duplicate] = (parent.children ?? []).filter((child) =>
    isKey ? child.children?.[0]?.value === step : findNodeAtLocation(child, ['id'])?.value === step.id,
  )
  if (duplicate !== undefined) throw new UnsafeEdit(`${name} occurs more than once`)
  if (element === undefined || rest.length === 0) return { parent, element, step, rest }
  return locate(valueNode(element), rest)
}

function valueNode(element: Node): Node {
  return (element.type === 'property' ? element.children?.[1] : undefined) ?? element
}

function nested(path: readonly Step[], value: JsonValue): JsonValue {
  return path.reduceRight<JsonValue>(
    (inner, step) => (typeof step === 'string' ? { [step]: inner } : [inner]),
    value,
  )
}

/** Adds an element after the last one and the comments that follow it. */
function insert(text: string, parent: Node, added: string, indent: string, eol: string): string {
  const last = parent.children?.at(-1)
  const lastEnd = last === undefined ? parent.offset + 1 : endOf(text, last)
  const hasComma = text[lastEnd - 1] === ','
  const close = parent.offset + parent.length - 1
  const offset = lastEnd + text.slice(lastEnd, close).trimEnd().length
  const space = text.slice(offset, close)
  const end = space.includes('\n') ? space : eol + lineIndent(text, parent.offset)
  const content = eol + indent + added + (hasComma ? ',' : '') + end
  return applyEdits(text, [
    { offset: lastEnd, length: 0, content: last === undefined || hasComma ? '' : ',' },
    { offset, length: space.length, content },
  ])
}

/** Removes an element, and its line if nothing else is on it. */
function withoutElement(text: string, { children = [] }: Node, element: Node): string {
  const lineStart = element.offset - lineIndent(text, element.offset).length
  const end = endOf(text, element)
  const lineRest = /^[^\S\n]*\n/.exec(text.slice(end))?.[0]
  const isWholeLine = (lineStart === 0 || text[lineStart - 1] === '\n') && lineRest !== undefined
  const offset = isWholeLine ? lineStart : element.offset
  const length = end - offset + (isWholeLine ? lineRest.length : 0)
  const cut = { offset, length, content: '' }
  const previous = children[children.indexOf(element) - 1]
  if (previous === undefined || text[end - 1] === ',') return applyEdits(text, [cut])
  // The element before becomes the last one.
  return applyEdits(text, [{ offset: endOf(text, previous) - 1, length: 1, content: '' }, cut])
}

/** The end of an element, which includes its comma. */
function endOf(text: string, { offset, length }: Node): number {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset + length)
  scanner.scan()
  return text[scanner.getTokenOffset()] === ',' ? scanner.getPosition() : offset + length
}

function childIndent(text: string, { offset, children: [first] = [] }: Node, unit: string): string {
  const isOnOwnLine = first !== undefined && text.slice(offset, first.offset).includes('\n')
  return isOnOwnLine ? lineIndent(text, first.offset) : lineIndent(text, offset) + unit
}

/** The indentation of the line of a position. */
function lineIndent(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? ''
}
