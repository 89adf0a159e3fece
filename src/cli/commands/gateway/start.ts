/** Limits of the stderr output of the program that is shown. */
const MAX_LINES = 5
const MAX_LINE = 200

/** When to report that the start takes long, and how often after that. */
const FIRST_MS = 3_000
const EVERY_MS = 10_000

export interface StartingProgram {
  readonly name: string
  readonly command: readonly string[]
  readonly connectTimeoutMs: number
}

/** Reports the progress of the start of a gateway, until its program has responded. */
export class StartReport {
  readonly #program: StartingProgram
  readonly #print: (line: string) => void
  readonly #began = Date.now()
  #lines: string[] = []
  #isHinted = false
  #timer: NodeJS.Timeout

  constructor(program: StartingProgram, print: (line: string) => void) {
    this.#program = program
    this.#print = print
    const { name, command, connectTimeoutMs } = program
    print(`Starting ${name}: ${clipped(command.join(' '))}`)
    print(`Waiting for it to respond as an MCP server (at most ${connectTimeoutMs / 1000} s)...`)
    this.#timer = setTimeout(() => this.#remind(), FIRST_MS).unref()
  }

  /** Records a line that the program has written to stderr. */
  record(line: string): void {
    this.#lines = [...this.#lines, clipped(line)].slice(-MAX_LINES)
  }

  /** Hints about why the program did not start. */
  explanation(isLate: boolean): string[] {
    const output = isLate || this.#lines.length > 0 ? [this.#wrote()] : []
    return isLate ? [...output, waitLonger(this.#program)] : output
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #remind(): void {
    const seconds = Math.round((Date.now() - this.#began) / 1000)
    this.#print(`${this.#program.name} has not responded after ${seconds} s. ${this.#wrote()}`)
    if (!this.#isHinted) this.#print(waitLonger(this.#program))
    this.#isHinted = true
    this.#timer = setTimeout(() => this.#remind(), EVERY_MS).unref()
  }

  #wrote(): string {
    if (this.#lines.length === 0) return 'It has written nothing to stderr.'
    return ['Its last lines on stderr:', ...this.#lines.map((line) => `  ${line}`)].join('\n')
  }
}

function waitLonger({ connectTimeoutMs }: StartingProgram): string {
  return (
    'The first start with npx or uvx downloads the package, which can take longer than ' +
    `${connectTimeoutMs / 1000} s: use --connect-timeout SECONDS to wait longer.`
  )
}

function clipped(text: string): string {
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE - 3)}...` : text
}
