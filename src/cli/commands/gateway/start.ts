/** What is shown of the program's own words. */
const MAX_LINES = 5
const MAX_LINE = 200

/** When to say that it takes long, and how often after that. */
const FIRST_MS = 3_000
const EVERY_MS = 10_000

export interface StartingProgram {
  readonly name: string
  readonly command: readonly string[]
  readonly connectTimeoutMs: number
}

/** Tells the person who starts a gateway what it waits for, until its program has answered. */
export class StartReport {
  readonly #program: StartingProgram
  readonly #say: (line: string) => void
  readonly #began = Date.now()
  #lines: string[] = []
  #isHinted = false
  #timer: NodeJS.Timeout

  constructor(program: StartingProgram, say: (line: string) => void) {
    this.#program = program
    this.#say = say
    const { name, command, connectTimeoutMs } = program
    say(`Starting ${name}: ${clipped(command.join(' '))}`)
    say(`Waiting for it to answer as an MCP server (at most ${connectTimeoutMs / 1000} s)...`)
    this.#timer = setTimeout(() => this.#remind(), FIRST_MS).unref()
  }

  /** The program has written this line to stderr. */
  heard(line: string): void {
    this.#lines = [...this.#lines, clipped(line)].slice(-MAX_LINES)
  }

  /** What helps to understand why the program did not start. */
  explanation(isLate: boolean): string[] {
    const said = isLate || this.#lines.length > 0 ? [this.#wrote()] : []
    return isLate ? [...said, waitLonger(this.#program)] : said
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #remind(): void {
    const seconds = Math.round((Date.now() - this.#began) / 1000)
    this.#say(`${this.#program.name} has not answered after ${seconds} s. ${this.#wrote()}`)
    if (!this.#isHinted) this.#say(waitLonger(this.#program))
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
    `${connectTimeoutMs / 1000} s: --connect-timeout SECONDS allows for more.`
  )
}

function clipped(text: string): string {
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE - 3)}...` : text
}
