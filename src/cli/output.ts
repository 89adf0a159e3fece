import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

function hasColors(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
}

/** Styles text for standard output, if that is a terminal. */
export function paint(style: Style, text: string): string {
  return hasColors(process.stdout) ? styleText(style, text) : text
}

export function warn(text: string): void {
  process.stderr.write(`${hasColors(process.stderr) ? styleText('yellow', text) : text}\n`)
}

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  succeeded: 'green',
  failed: 'red',
  canceled: 'gray',
  running: 'cyan',
  leased: 'blue',
  pending_approval: 'yellow',
  input_required: 'yellow',
}

export function paintStatus(padded: string): string {
  const style = STATUS_STYLES[padded.trim()]
  return style === undefined ? padded : paint(style, padded)
}

type Cell = string | number | null | undefined

/** The output of a command: tables and sentences for people, or JSON for programs. */
export class Output {
  readonly json: boolean

  constructor(json: boolean) {
    this.json = json
  }

  /** Prints a value as JSON with --json, and otherwise by `print`. */
  result(value: object, print: () => void): void {
    if (this.json) this.write(JSON.stringify(value, null, 2))
    else print()
  }

  /** Prints a line, unless --json is given. */
  print(line = ''): void {
    if (!this.json) this.write(line)
  }

  /** Prints one line of JSON with --json, for commands that run until they are stopped. */
  event(value: object): void {
    if (this.json) this.write(JSON.stringify(value))
  }

  /** Prints labelled lines. Those without a value are left out. */
  details(lines: readonly (readonly [name: string, value: Cell])[], width = 10): void {
    for (const [name, value] of lines) {
      if (value !== '' && value !== null && value !== undefined) this.print(`${name.padEnd(width)} ${value}`)
    }
  }

  /** Tells on stderr how to get the next page, if there is one. */
  nextPage(cursor: string | null, option = '--cursor'): void {
    if (cursor !== null) warn(`There are more: ${option} ${cursor}`)
  }

  /** Prints a table, or the line `none` if it has no rows. */
  table(titles: readonly string[], cells: readonly (readonly Cell[])[], none?: string): void {
    if (cells.length === 0 && none !== undefined) {
      this.print(none)
      return
    }
    const rows = cells.map((row) => row.map((cell) => String(cell ?? '')))
    const widths = titles.map((title, i) =>
      Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
    )
    const line = (cells: readonly string[], style: (cell: string, column: number) => string) =>
      cells
        .map((cell, i) => style(i === cells.length - 1 ? cell : cell.padEnd(widths[i] ?? 0), i))
        .join('  ')
        .trimEnd()
    this.print(line(titles, (cell) => paint('bold', cell)))
    const status = titles.indexOf('STATUS')
    for (const row of rows) this.print(line(row, (cell, i) => (i === status ? paintStatus(cell) : cell)))
  }

  write(line: string): void {
    process.stdout.write(`${line}\n`)
  }
}

/** A status line for long waits, on stderr and only on a terminal. */
export class ProgressLine {
  readonly #stream = process.stderr

  show(text: string): void {
    if (this.#stream.isTTY)
      this.#stream.write(`\r\u001b[2K${text.slice(0, (this.#stream.columns ?? 80) - 1)}`)
  }

  clear(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\u001b[2K')
  }
}
