import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { CliError, EXIT } from '../cli/exit.ts'

/** A file that the operator names in a setting: YAML, of which JSON is a part. */
export class OperatorFile {
  readonly content: unknown
  readonly #path: string
  readonly #hint: string

  /** `hint` says what such a file is, and where that is explained. */
  constructor(path: string, hint: string) {
    this.#path = path
    this.#hint = hint
    const document = parseDocument(this.#text())
    const [error] = document.errors
    if (error !== undefined) throw this.wrong(`is not YAML or JSON: ${error.message.split('\n')[0]}`)
    this.content = document.toJS()
  }

  wrong(problem: string): CliError {
    return new CliError(EXIT.usage, `${this.#path} ${problem}.`.replace(/\.\.$/, '.'), this.#hint)
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      throw this.wrong(`cannot be read (${String(code)})`)
    }
  }
}
