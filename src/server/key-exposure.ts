import { accessSync, constants, existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StdioTransportRecord, UpstreamRecord } from '../features/upstreams/shape.ts'
import type { Upstreams } from '../gateway/upstreams/upstreams.ts'
import { configFolder, localKeyFile } from './local-key.ts'
import { OperatorError } from './operator-error.ts'

/**
 * Refuses upstream programs whose arguments or variables name a folder that contains the approval key: agents call
 * their tools, and could read the key and approve their own requests. The working directory of a program is often the
 * home folder or the root, and few programs serve it, so that is only a warning.
 */
export function checkKeyExposure(upstreams: readonly UpstreamRecord[], warn: (text: string) => void): void {
  const folder = configFolder()
  if (!isReadable(localKeyFile())) return
  const keyFolder = real(folder)
  for (const { name, transport } of upstreams) {
    if (transport.type !== 'stdio') continue
    const exposed = pathsOf(transport).find(
      (path) => isBelow(keyFolder, real(path)) || isBelow(real(path), keyFolder),
    )
    if (exposed === undefined) {
      if (isBelow(keyFolder, real(transport.cwd ?? process.cwd()))) warn(inWorkingFolder(name, folder))
      continue
    }
    throw new OperatorError(
      'failed',
      `The upstream ${name} is given ${exposed}, and could read your approval key, which is in ${folder}.`,
      'Give it another folder (arguments and variables count), or keep the key elsewhere: set ' +
        'ASYNCGATE_CONFIG_DIR to a folder outside, for this server and for the commands that you approve with.',
    )
  }
}

function inWorkingFolder(name: string, folder: string): string {
  return (
    `The upstream ${name} is started above ${folder}, where your approval key is. If it serves its working ` +
    'directory, start it in another one, or set ASYNCGATE_CONFIG_DIR to a folder outside.'
  )
}

/** Everything in the arguments and variables that may be a path, such as `--root=/srv`, `/srv:/data` or `~/notes,/tmp`. */
function pathsOf({ args, env, cwd = process.cwd() }: StdioTransportRecord): readonly string[] {
  const values = Object.values(env).map((text) => {
    const [, variable] = /^env:(.+)$/.exec(text) ?? []
    return variable === undefined ? text : (process.env[variable] ?? '')
  })
  const texts = [...args, ...values].flatMap((text) => [text, ...text.split(/[=,:;]/)])
  return texts.filter((text) => text !== '').map((text) => pathOf(text, cwd))
}

function pathOf(text: string, cwd: string): string {
  if (/^file:\/\/\//.test(text) && URL.canParse(text)) return fileURLToPath(text)
  if (text === '~' || text.startsWith('~/')) return join(homedir(), text.slice(1))
  return resolve(cwd, text)
}

/** A file that this account cannot read, its programs cannot read either. */
function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Follows symbolic links in the part of the path that exists. */
function real(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const parent = dirname(path)
  return parent === path ? path : join(real(parent), relative(parent, path))
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith('../') || way.startsWith('..\\') || isAbsolute(way))
}

interface UpstreamTools {
  readonly name: string
  readonly transport: { readonly type: string }
  readonly catalogue: readonly {
    readonly tool: string
    readonly status: string
    readonly runs_commands: boolean
  }[]
}

/** The warning about a program with tools that run commands; undefined if it has none. */
export function commandWarning({ name, transport, catalogue }: UpstreamTools): string | undefined {
  const tools = catalogue.filter(({ status, runs_commands }) => runs_commands && status === 'listed')
  // An upstream over HTTP runs under another account, or on another machine.
  if (transport.type !== 'stdio' || tools.length === 0) return undefined
  const names = tools.map(({ tool }) => tool).join(', ')
  return (
    `${name} can run commands as you (${names}), so it can read your approval key. ` +
    'See docs/approvals.md#programs-that-run-commands.'
  )
}

/** Warns once about each such upstream, as soon as its tools are known. Returns an unsubscribe function. */
export function warnOfCommands(upstreams: Upstreams, warn: (warning: string) => void): () => void {
  const warned = new Set<string>()
  const check = () => {
    for (const { name } of upstreams.list()) {
      const detail = warned.has(name) ? undefined : upstreams.get(name)
      const warning = detail && commandWarning(detail)
      if (warning === undefined) continue
      warned.add(name)
      warn(warning)
    }
  }
  check()
  return upstreams.onTools(check)
}
