import { VERSION } from '../util/version.ts'
import type { Command } from './command.ts'
import { EXIT_MEANINGS } from './exit.ts'
import type { Options } from './input.ts'

export function commandHelp(command: Command): string {
  const options = optionLines(command.options)
  const notes = command.notes?.()
  return [
    `${command.usage} [options]`,
    '',
    `  ${command.summary}`,
    '',
    'Options',
    ...options,
    ...(notes === undefined ? [] : ['', notes.trimEnd()]),
  ].join('\n')
}

export function overview(commands: readonly { readonly name: string; readonly summary: string }[]): string {
  return [
    `asyncgate ${VERSION}: the durable place where AI agents put work`,
    '',
    'Usage: asyncgate COMMAND [options]     without a command: asyncgate dev',
    '',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Every command takes --help, and --json for programs. Settings: asyncgate config, asyncgate serve --help.',
    '',
    'Exit codes',
    ...columns(EXIT_MEANINGS.map(([code, meaning]) => [String(code), meaning])),
  ].join('\n')
}

function optionLines(options: Options): string[] {
  return columns(
    Object.entries(options).map(([name, { short, value, doc, multiple }]) => [
      `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`,
      multiple ? `${doc}; may be repeated` : doc,
    ]),
  )
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
