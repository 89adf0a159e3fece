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

/** One line for each command: its name and the first sentence of its summary. */
export function overview(commands: readonly Command[]): string {
  return [
    `asyncgate ${VERSION}: a durable task gateway for AI agents`,
    '',
    'Usage: asyncgate COMMAND [options]     without a command: asyncgate dev',
    '',
    ...columns(commands.map(({ name, summary }) => [name, summary.replace(/\.( .*)?$/, '')])),
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
