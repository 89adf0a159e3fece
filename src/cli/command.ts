import type { ExitCode } from './exit.ts'
import { Input, type Options } from './input.ts'
import { Output } from './output.ts'

const COMMON = {
  json: { type: 'boolean', doc: 'print JSON' },
  help: { type: 'boolean', short: 'h', doc: 'print this text' },
} as const satisfies Options

interface Spec<O extends Options> {
  /** One or two words. */
  readonly name: string
  readonly summary: string
  /** The words that follow the name, as help writes them. */
  readonly takes?: readonly string[]
  readonly options: O
  /** More for the help. */
  readonly notes?: () => string
  /** Resolves with the exit code, if it is not that of success. */
  run(input: Input<keyof O & string>, output: Output): Promise<ExitCode | undefined>
}

export interface Command {
  readonly name: string
  readonly summary: string
  readonly usage: string
  readonly options: Options
  readonly notes: (() => string) | undefined
  run(args: readonly string[]): Promise<ExitCode | 'help' | undefined>
}

/** A command of the CLI: what it is called, what it takes, and what it does. */
export function command<const O extends Options>(spec: Spec<O>): Command {
  const takes = spec.takes ?? []
  const options = { ...spec.options, ...COMMON }
  return {
    name: spec.name,
    summary: spec.summary,
    usage: ['asyncgate', spec.name, ...takes].join(' '),
    options,
    notes: spec.notes,
    async run(args) {
      const input = Input.parse<(keyof O & string) | keyof typeof COMMON>(spec.name, args, options)
      if (input.flag('help')) return 'help'
      input.expect(takes)
      return spec.run(input, new Output(input.flag('json')))
    },
  }
}
