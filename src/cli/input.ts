import { parseArgs } from 'node:util'
import { isPrincipalKind, type Principal } from '../core/principal.ts'
import { usageError } from './exit.ts'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** How help writes the value. */
  readonly value?: string
  readonly doc: string
}

export type Options = Readonly<Record<string, Option>>

/** What was typed after the name of a command. */
export class Input<Name extends string> {
  readonly #command: string
  readonly #values: Readonly<Record<string, unknown>>
  readonly words: readonly string[]

  private constructor(command: string, values: Readonly<Record<string, unknown>>, words: readonly string[]) {
    this.#command = command
    this.#values = values
    this.words = words
  }

  static parse<Name extends string>(command: string, args: readonly string[], options: Options): Input<Name> {
    try {
      const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
      return new Input(command, values, positionals)
    } catch (error) {
      const [complaint = ''] = error instanceof Error ? error.message.split(/\. To specify|\n/) : []
      throw usageError(`${complaint.replace(/\.$/, '')}.`, seeHelp(command))
    }
  }

  /** Refuses more words than a command takes, or fewer; those in brackets may be absent, and dots stand for any number. */
  expect(takes: readonly string[]): void {
    const missing = takes[this.words.length]
    if (missing !== undefined && !missing.startsWith('[')) throw this.wrong(`${missing} is missing.`)
    if (takes.at(-1)?.endsWith('...]')) return
    const extra = this.words[takes.length]
    if (extra !== undefined) throw this.wrong(`"${extra}" is one argument too many.`)
  }

  /** The word at this place, which the command requires. */
  word(place: number): string {
    return this.words[place] ?? ''
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

  whole(name: Name): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    if (!/^-?\d{1,15}$/.test(value)) throw this.wrong(`--${name} takes a whole number, not "${value}".`)
    return Number(value)
  }

  /** `kind:id`, or the id of an agent. */
  principal(name: Name): Principal | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const colon = value.indexOf(':')
    const [kind, id] = colon < 0 ? ['agent', value] : [value.slice(0, colon), value.slice(colon + 1)]
    if (!isPrincipalKind(kind) || id === '')
      throw this.wrong(`--${name} takes KIND:ID, as in agent:alice, not "${value}".`)
    return { kind, id }
  }

  /** Each KEY=VALUE of an option that may be repeated. */
  pairs(name: Name): Record<string, string> {
    return Object.fromEntries(
      this.texts(name).map((pair) => {
        const equals = pair.indexOf('=')
        if (equals < 1) throw this.wrong(`--${name} takes KEY=VALUE, not "${pair}".`)
        return [pair.slice(0, equals), pair.slice(equals + 1)]
      }),
    )
  }

  wrong(message: string) {
    return usageError(message, seeHelp(this.#command))
  }
}

function seeHelp(command: string): string {
  return `See "asyncgate ${command} --help".`
}
