import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

function mayColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
}

/** Colours a text for standard output, if that is a terminal. */
export function paint(style: Style, text: string): string {
  return mayColour(process.stdout) ? styleText(style, text) : text
}

export function warn(text: string): void {
  process.stderr.write(`${mayColour(process.stderr) ? styleText('yellow', text) : text}\n`)
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

/** What a command says: tables and sentences for people, or JSON for programs. */
export class Output {
  readonly json: boolean

  constructor(json: boolean) {
    this.json = json
  }

  /** One answer in both forms. */
  answer(value: object, tell: () => void): void {
    if (this.json) this.write(JSON.stringify(value, null, 2))
    else tell()
  }

  /** A line for people. */
  say(line = ''): void {
    if (!this.json) this.write(line)
  }

  /** A line of its own for programs, of commands that go on and on. */
  event(value: object): void {
    if (this.json) this.write(JSON.stringify(value))
  }

  table(titles: readonly string[], rows: readonly (readonly string[])[]): void {
    const widths = titles.map((title, i) =>
      Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
    )
    const line = (cells: readonly string[], tint: (cell: string, column: number) => string) =>
      cells
        .map((cell, i) => tint(i === cells.length - 1 ? cell : cell.padEnd(widths[i] ?? 0), i))
        .join('  ')
        .trimEnd()
    this.say(line(titles, (cell) => paint('bold', cell)))
    const status = titles.indexOf('STATUS')
    for (const row of rows) this.say(line(row, (cell, i) => (i === status ? paintStatus(cell) : cell)))
  }

  write(line: string): void {
    process.stdout.write(`${line}\n`)
  }
}

/** A line that shows how a long wait stands and goes away when it is over. Only on a terminal. */
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
