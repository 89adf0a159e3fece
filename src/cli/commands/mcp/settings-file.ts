import { randomUUID } from 'node:crypto'
import { chmod, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { messageOf } from '../../../util/error-message.ts'
import { CliError, EXIT } from '../../exit.ts'
import type { SettingsLocation } from './places.ts'

const MAX_BYTES = 64 * 1024 * 1024

export interface SettingsFile {
  readonly path: string
  /** The file itself, if the path is a symbolic link. */
  readonly target: string
  /** Undefined if there is no such file. */
  readonly text: string | undefined
  /** Undefined for a new file, which gets the default mode. */
  readonly mode: number | undefined
}

/** Reads a settings file of the user. Throws if it cannot be edited. */
export async function readSettingsFile({ file: path, root }: SettingsLocation): Promise<SettingsFile> {
  const target = await resolved(path)
  const folder = await resolved(root)
  if (isOutside(folder, target)) {
    throw new CliError(
      EXIT.failure,
      `${path} is a link to ${target}, which is outside of ${root}.`,
      'Nothing was changed. Edit that file by hand if this is intended.',
    )
  }
  const stats = await stat(target).catch(unlessAbsent)
  if (stats === undefined) {
    const link = await lstat(target).catch(unlessAbsent)
    if (link === undefined) return { path, target, text: undefined, mode: undefined }
    throw new CliError(EXIT.failure, `${path} is a link to a file that does not exist. Nothing was changed.`)
  }
  if (!stats.isFile() || stats.size > MAX_BYTES)
    throw new CliError(EXIT.failure, `${path} is not a settings file. Nothing was changed.`)
  return { path, target, text: await readText(path, target), mode: stats.mode & 0o777 }
}

/** Replaces the text of a file that was read before. The file is replaced as a whole, and its mode is kept. */
export async function writeSettingsFile(file: SettingsFile, text: string): Promise<void> {
  const { path, target, mode } = file
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`)
  try {
    await mkdir(dirname(target), { recursive: true })
    const handle = await open(temporary, 'wx', mode ?? 0o666)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (mode !== undefined) await chmod(temporary, mode)
    const current = await readText(path, target).catch(unlessAbsent)
    if (current !== file.text) {
      throw new CliError(
        EXIT.failure,
        `${path} has changed in the meantime. Nothing was written.`,
        'Run the command again.',
      )
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (error instanceof CliError) throw error
    throw new CliError(EXIT.failure, `${path} cannot be written: ${messageOf(error)}`)
  }
}

async function readText(path: string, target: string): Promise<string> {
  const bytes = await readFile(target)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CliError(EXIT.failure, `${path} is not UTF-8. Nothing was changed.`)
  }
}

/** The path with symbolic links resolved, also if its last parts do not exist yet. */
async function resolved(path: string): Promise<string> {
  const found = await realpath(path).catch(unlessAbsent)
  if (found !== undefined) return found
  const parent = dirname(path)
  return parent === path ? path : join(await resolved(parent), basename(path))
}

function isOutside(folder: string, target: string): boolean {
  const [first] = relative(folder, target).split(/[\\/]/)
  return first === '..' || relative(folder, target) === target
}

function unlessAbsent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
    return undefined
  throw error
}
