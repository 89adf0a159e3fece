import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isPrincipalKind, type Principal } from '../core/principal.ts'
import { messageOf } from '../util/error-message.ts'
import { usageError } from './exit.ts'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** Placeholder of the value in help. */
  readonly value?: string
  readonly doc: string
}

export type Options = Readonly<Record<string, Option>>

/** An option with a value, such as `--type TYPE`. */
export function text(value: string, doc: string) {
  return { type: 'string', value, doc } as const
}

/** An option that can be given more than once. */
export function texts(value: string, doc: string) {
  return { type: 'string', value, doc, multiple: true } as const
}

export function flag(doc: string) {
  return { type: 'boolean', doc } as const
}

/** Options of commands that list pages. */
export const PAGE = {
  limit: text('N', 'maximum number of results, up to 200; default 50'),
  cursor: text('CURSOR', 'the cursor that the previous page ended with'),
}

/** The arguments and options after the name of a command. */
export class Input<Name extends string> {
  readonly #command: string
  readonly #values: Readonly<Record<string, unknown>>
  readonly args: readonly string[]

  private constructor(command: string, values: Readonly<Record<string, unknown>>, args: readonly string[]) {
    this.#command = command
    this.#values = values
    this.args = args
  }

  static parse<Name extends string>(command: string, args: readonly string[], options: Options): Input<Name> {
    try {
      const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
      return new Input(command, values, positionals)
    } catch (error) {
      const [problem = ''] = error instanceof Error ? error.message.split(/\. To specify|\n/) : []
      throw usageError(`${problem.replace(/\.$/, '')}.`, seeHelp(command))
    }
  }

  /** Checks the number of arguments. Those in brackets are optional, and `...` allows any number. */
  expect(takes: readonly string[]): void {
    const missing = takes[this.args.length]
    if (missing !== undefined && !missing.startsWith('[')) throw this.usageError(`${missing} is missing.`)
    if (takes.at(-1)?.endsWith('...]')) return
    const extra = this.args[takes.length]
    if (extra !== undefined) throw this.usageError(`Unexpected argument "${extra}".`)
  }

  /** An argument that the command requires. */
  arg(index: number): string {
    return this.args[index] ?? ''
  }

  flag(name: Name): boolean {
    return this.#values[name] === true
  }

  text(name: Name): string | undefined {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  texts(name: Name): string[] {
    const value = this.#values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  integer(name: Name): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    if (!/^-?\d{1,15}$/.test(value)) throw this.usageError(`--${name} takes an integer, not "${value}".`)
    return Number(value)
  }

  json(name: Name): unknown {
    const value = this.text(name)
    return value === undefined ? undefined : readJson(value, `--${name}`)
  }

  /** `kind:id`, or the id of an agent. */
  principal(name: Name): Principal | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : this.#principal(`--${name} takes`, value)
  }

  /** A required argument of the same form. */
  principalArg(n: number): Principal {
    return this.#principal('The argument is', this.arg(n))
  }

  #principal(what: string, value: string): Principal {
    const [kind, id] = splitPrincipal(value)
    if (!isPrincipalKind(kind) || id === '')
      throw this.usageError(`${what} KIND:ID, as in agent:alice, not "${value}".`)
    return { kind, id }
  }

  /** The KEY=VALUE pairs of an option that can be repeated. */
  pairs(name: Name): Record<string, string> {
    return Object.fromEntries(
      this.texts(name).map((pair) => {
        const equals = pair.indexOf('=')
        if (equals < 1) throw this.usageError(`--${name} takes KEY=VALUE, not "${pair}".`)
        return [pair.slice(0, equals), pair.slice(equals + 1)]
      }),
    )
  }

  usageError(message: string) {
    return usageError(message, seeHelp(this.#command))
  }
}

/** Splits `kind:id`; an id without a kind is that of an agent. */
export function splitPrincipal(name: string): readonly [kind: string, id: string] {
  const colon = name.indexOf(':')
  return colon < 0 ? ['agent', name] : [name.slice(0, colon), name.slice(colon + 1)]
}

/** Reads JSON that is given as text, as `@FILE`, or as `-` for standard input. `name` is the option or argument. */
export function readJson(given: string, name: string): unknown {
  let source = given
  if (given === '-' || given.startsWith('@')) {
    try {
      source = readFileSync(given === '-' ? 0 : given.slice(1), 'utf8')
    } catch (error) {
      throw usageError(`${name} ${given} cannot be read: ${messageOf(error)}`)
    }
  }
  try {
    return JSON.parse(source)
  } catch {
    throw usageError(
      `${name} is not JSON: ${source.slice(0, 60)}`,
      `Quote it for the shell, as in '{"document": "report.pdf"}'.`,
    )
  }
}

/** Undefined instead of an empty list or record, which a filter would understand as "none". */
export function unlessEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined
}

function seeHelp(command: string): string {
  return `See "asyncgate ${command} --help".`
}
