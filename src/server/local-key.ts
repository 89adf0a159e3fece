import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { CliError, EXIT } from '../cli/exit.ts'
import { warn } from '../cli/output.ts'
import { messageOf } from '../util/error-message.ts'

/** The key of the person who runs servers under this account, and the name that their decisions are recorded under. */
export interface LocalKey {
  readonly name: string
  readonly key: string
}

const FILE = 'local-key'

/** Where earlier versions kept such a key: in the folder that a gateway may serve. */
const OLD_FILE = '.asyncgate/own-key'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The folder of the key. The environment alone decides it: a config file may lie in a folder that an agent can write
 * to, and could lead the next server to a key of the agent's.
 */
export function configFolder(env: Environment = process.env): string {
  const { ASYNCGATE_CONFIG_DIR: given, XDG_CONFIG_HOME: xdg } = env
  if (given !== undefined && given !== '') return resolve(given)
  const isUsable = xdg !== undefined && isAbsolute(xdg)
  return join(isUsable ? xdg : join(homedir(), '.config'), 'asyncgate')
}

export function localKeyFile(): string {
  return join(configFolder(), FILE)
}

/** Reads the key, or makes it if there is none. */
export function openLocalKey(): LocalKey {
  removeOldKey()
  const name = userInfo().username.replace(/[^\w.@-]/g, '') || 'operator'
  try {
    return { name, key: readLocalKey() ?? writeLocalKey() }
  } catch (error) {
    const reason = messageOf(error)
    throw new CliError(
      EXIT.failure,
      `Your approval key cannot be kept in ${localKeyFile()}: ${reason}`,
      'Set ASYNCGATE_CONFIG_DIR to a folder of yours that no agent can read, or ASYNCGATE_ADMIN_KEYS.',
    )
  }
}

function readLocalKey(): string | undefined {
  const file = localKeyFile()
  if (!existsSync(file)) return undefined
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    chmodSync(file, 0o600)
    warn(`${file} was readable by others. It no longer is; delete it to get another key.`)
  }
  return readFileSync(file, 'utf8').trim() || undefined
}

/** For what can do without the key: one that cannot be read is as good as none. */
export function readableLocalKey(): string | undefined {
  try {
    return readLocalKey()
  } catch {
    return undefined
  }
}

function writeLocalKey(): string {
  const key = randomBytes(24).toString('base64url')
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(localKeyFile(), `${key}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    // Of two servers that start at once, both take the key of the first. An empty file is replaced.
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!isThere) throw error
    const first = readLocalKey()
    if (first !== undefined) return first
    writeFileSync(localKeyFile(), `${key}\n`, { mode: 0o600 })
  }
  return key
}

function removeOldKey(): void {
  if (!existsSync(OLD_FILE)) return
  rmSync(OLD_FILE, { force: true })
  warn(`${OLD_FILE} was removed and is not valid any more: your key is in ${localKeyFile()}.`)
}
