import { accessSync, constants, existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CliError, EXIT } from '../cli/exit.ts'
import { warn } from '../cli/output.ts'
import type { StdioTransportRecord, UpstreamRecord } from '../features/upstreams/shape.ts'
import { configFolder, localKeyFile } from './local-key.ts'

/**
 * Refuses programs that are given a folder with the key of the person in it: agents call their tools, and could read
 * the key and approve what they asked for. The folder that a program is started in is often the home folder, or that of
 * the whole disk, and few programs serve it: about that there is only a warning.
 */
export function checkKeyExposure(upstreams: readonly UpstreamRecord[]): void {
  const folder = configFolder()
  if (!isReadable(localKeyFile())) return
  const keyFolder = real(folder)
  for (const { name, transport } of upstreams) {
    if (transport.type !== 'stdio') continue
    const given = pathsOf(transport).find(
      (path) => isBelow(keyFolder, real(path)) || isBelow(real(path), keyFolder),
    )
    if (given === undefined) {
      if (isBelow(keyFolder, real(transport.cwd ?? process.cwd()))) warn(inCwd(name, folder))
      continue
    }
    throw new CliError(
      EXIT.failure,
      `The upstream ${name} is given ${given}, and could read your approval key, which is in ${folder}.`,
      'Give it another folder (arguments and variables count), or keep the key elsewhere: set ' +
        'ASYNCGATE_CONFIG_DIR to a folder outside, for this server and for the commands that you approve with.',
    )
  }
}

function inCwd(name: string, folder: string): string {
  return (
    `The upstream ${name} is started above ${folder}, where your approval key is. If it serves the folder that it is ` +
    'started in, start it in another, or set ASYNCGATE_CONFIG_DIR to a folder outside.'
  )
}

/** Whatever a program is told that may be a path, such as `--root=/srv`, `/srv:/data` or `~/notes,/tmp`. */
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

/** With symbolic links followed, as far as there is anything. */
function real(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const parent = dirname(path)
  return parent === path ? path : join(real(parent), relative(parent, path))
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith('../') || way.startsWith('..\\') || isAbsolute(way))
}
