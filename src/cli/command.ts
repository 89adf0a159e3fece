import type { ExitCode } from './exit.ts'
import { flag, Input, type Options } from './input.ts'
import { Output } from './output.ts'

const COMMON = {
  json: flag('print JSON'),
  help: { ...flag('print this text'), short: 'h' },
} as const satisfies Options

/** The exit code; success if there is none. */
export type Ending = Promise<void> | Promise<ExitCode | undefined>

export interface Spec<O extends Options> {
  /** One or two words. */
  readonly name: string
  /** The overview of all commands shows the first sentence. */
  readonly summary: string
  /** The arguments, as help shows them. */
  readonly takes?: readonly string[]
  readonly options: O
  /** Further text of the help page. */
  readonly notes?: () => string
  run(input: Input<keyof O & string>, output: Output): Ending
}

export interface Command extends Omit<Spec<Options>, 'takes' | 'run'> {
  readonly usage: string
  run(args: readonly string[]): Promise<ExitCode | 'help' | undefined>
}

export function command<const O extends Options>({ takes = [], ...spec }: Spec<O>): Command {
  const options = { ...spec.options, ...COMMON }
  return {
    ...spec,
    usage: ['asyncgate', spec.name, ...takes].join(' '),
    options,
    async run(args) {
      const input = Input.parse<(keyof O & string) | keyof typeof COMMON>(spec.name, args, options)
      if (input.flag('help')) return 'help'
      input.expect(takes)
      return (await spec.run(input, new Output(input.flag('json')))) ?? undefined
    },
  }
}
