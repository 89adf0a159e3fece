import type { JsonValue, SettingsEditor, Step } from './settings-text.ts'
import { UnsafeEdit } from './settings-text.ts'

interface Statement {
  readonly kind: 'table' | 'array of tables' | 'pair'
  readonly key: readonly string[]
  /** The key of a pair with those of its table. */
  readonly path: readonly string[]
  readonly start: number
  /** Before the line break; a comment after the statement belongs to it. */
  readonly end: number
  /** The value of a pair, as it is written. */
  readonly value: string
}

/** A table and its pairs. */
interface Table {
  readonly header: Statement
  readonly pairs: readonly Statement[]
  readonly end: number
}

/** Sets and removes whole tables of a TOML file. All other text stays as it was. */
export const toml: SettingsEditor = {
  set(text, path, value) {
    const keys = keysOf(path)
    const { own } = tablesAt(text, keys)
    const eol = text.includes('\r\n') ? '\r\n' : '\n'
    const pairs = pairsOf(value)
    const body = [`[${keys.join('.')}]`, ...pairs.map(([key, written]) => `${key} = ${written}`)].join(eol)
    if (own !== undefined) {
      const current = new Map(own.pairs.map(({ key, value }) => [key.join('.'), value]))
      const isSame =
        current.size === pairs.length && pairs.every(([key, written]) => current.get(key) === written)
      return isSame ? text : text.slice(0, own.header.start) + body + text.slice(own.end)
    }
    if (text.trim() === '') return body + eol
    return `${text}${text.endsWith('\n') ? '' : eol}${eol}${body}${eol}`
  },

  remove(text, path) {
    const { own, inner } = tablesAt(text, keysOf(path))
    // From the end, so that positions stay valid.
    return [...(own ? [own] : []), ...inner]
      .toSorted((a, b) => b.header.start - a.header.start)
      .reduce(withoutTable, text)
  },
}

function keysOf(path: readonly Step[]): string[] {
  return path.map((step) => {
    if (typeof step !== 'string' || !/^[\w-]+$/.test(step)) throw new UnsafeEdit('the path is not a table')
    return step
  })
}

function pairsOf(value: JsonValue): (readonly [string, string])[] {
  return Object.entries(value).map(([key, written]) => [key, JSON.stringify(written)] as const)
}

/** The table at a path, and the tables in it. */
function tablesAt(text: string, path: readonly string[]): { own: Table | undefined; inner: Table[] } {
  const tables: Table[] = []
  for (const statement of new Scanner(text).statements()) {
    const table = tables.at(-1)
    if (statement.kind !== 'pair') {
      if (statement.kind !== 'table' && startsWith(path, statement.key)) throw otherwiseWritten(statement.key)
      tables.push({ header: statement, pairs: [], end: statement.end })
      continue
    }
    const isInTable = table !== undefined && startsWith(table.header.key, path)
    const overlaps = startsWith(path, statement.path) || startsWith(statement.path, path)
    if (overlaps && !isInTable) throw otherwiseWritten(statement.path)
    if (table !== undefined)
      tables.splice(-1, 1, { ...table, pairs: [...table.pairs, statement], end: statement.end })
  }
  const within = tables.filter(({ header }) => startsWith(header.key, path))
  const own = within.filter(({ header }) => header.key.length === path.length)
  if (own.length > 1) throw new UnsafeEdit(`the table ${path.join('.')} occurs more than once`)
  return { own: own[0], inner: within.filter((table) => !own.includes(table)) }
}

function otherwiseWritten(key: readonly string[]): UnsafeEdit {
  return new UnsafeEdit(`${key.join('.')} is not written as a separate table`)
}

function startsWith(key: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((part, i) => key[i] === part)
}

function withoutTable(text: string, { header, end }: Table): string {
  const before = text
    .slice(0, header.start)
    .replace(/(?:\r?\n[ \t]*)+$/, (breaks) => (breaks.includes('\r') ? '\r\n' : '\n'))
  const rest = text.slice(end).replace(/^[ \t]*\r?\n/, '')
  return (before.trim() === '' ? '' : before) + rest
}

const STRING =
  /"""(?:\\[\s\S]|"{1,2}(?!")|[^"\\])*"{3,5}|'''(?:'{1,2}(?!')|[^'])*'{3,5}|"(?:\\[^\r\n]|[^"\\\r\n])*"|'[^'\r\n]*'/y
const KEY = /[\w-]+|"(?:\\[^\r\n]|[^"\\\r\n])*"|'[^'\r\n]*'/y
const ATOM =
  /(?:true|false|[+-]?(?:inf|nan)|[+-]?\d[\w.:+-]*(?: \d[\d.:]*(?:Z|[+-][\d:]+)?)?)(?=[\s,\]}#]|$)/y
const BLANK = /[ \t]*/y
const SPACE = /(?:\s|#[^\n]*)*/y
const LINE_END = /[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)/y
const MAX_DEPTH = 100

/** Finds the statements of a TOML file. It is stricter than needed for the structure and more tolerant for the values. */
class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  *statements(): Generator<Statement> {
    let table: readonly string[] = []
    this.#match(/\uFEFF?/y)
    for (;;) {
      this.#match(SPACE)
      if (this.#at === this.#text.length) return
      const start = this.#at
      const brackets = this.#match(/\[{1,2}/y)
      if (brackets === undefined) {
        const key = this.#key()
        this.#expect('=')
        const valueStart = this.#at
        this.#value(0)
        const value = this.#text.slice(valueStart, this.#at)
        yield { kind: 'pair', key, path: [...table, ...key], start, end: this.#lineEnd(), value }
      } else {
        table = this.#key()
        this.#expect(brackets === '[' ? ']' : ']]')
        const kind = brackets === '[' ? 'table' : 'array of tables'
        yield { kind, key: table, path: table, start, end: this.#lineEnd(), value: '' }
      }
    }
  }

  #key(): string[] {
    const parts: string[] = []
    do {
      this.#match(BLANK)
      const part = this.#match(KEY)
      if (part === undefined) throw this.#problem('a key')
      parts.push(unquoted(part))
      this.#match(BLANK)
    } while (this.#match(/\./y) !== undefined)
    return parts
  }

  #value(depth: number): void {
    if (depth > MAX_DEPTH) throw new UnsafeEdit('it is nested too deeply')
    if (this.#match(STRING) !== undefined || this.#match(ATOM) !== undefined) return
    if (this.#match(/\[/y) !== undefined) {
      this.#list(']', () => this.#value(depth + 1))
      return
    }
    if (this.#match(/\{/y) === undefined) throw this.#problem('a value')
    this.#list('}', () => {
      this.#key()
      this.#expect('=')
      this.#value(depth + 1)
    })
  }

  #list(close: ']' | '}', read: () => void): void {
    for (;;) {
      this.#match(SPACE)
      if (this.#text[this.#at] === close) break
      read()
      this.#match(SPACE)
      if (this.#match(/,/y) === undefined && this.#text[this.#at] !== close)
        throw this.#problem(`"," or "${close}"`)
    }
    this.#at += 1
  }

  #expect(token: string): void {
    if (!this.#text.startsWith(token, this.#at)) throw this.#problem(`"${token}"`)
    this.#at += token.length
    this.#match(BLANK)
  }

  #lineEnd(): number {
    if (this.#match(LINE_END) === undefined) throw this.#problem('the end of the line')
    return this.#at
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

function unquoted(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1)
  if (!part.startsWith('"')) return part
  try {
    return String(JSON.parse(part))
  } catch {
    throw new UnsafeEdit(`the key ${part} has an escape that is not supported`)
  }
}
