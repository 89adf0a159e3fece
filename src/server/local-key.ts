import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { messageOf } from '../util/error-message.ts'
import { OperatorError } from './operator-error.ts'

/** The approval key of the person who runs servers under this account, and the name that decisions are recorded under. */
export interface LocalKey {
  readonly name: string
  readonly key: string
}

type Warn = (text: string) => void

const FILE = 'local-key'

/** Earlier versions stored the key here, in a folder that a gateway may serve. */
const LEGACY_FILE = '.asyncgate/own-key'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The folder of the key. Only the environment determines it: a config file may be in a folder that an agent can write
 * to, and could point the next server to a key that the agent knows.
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

/** The name of the person who runs this process. */
export function localPerson(): string {
  return userInfo().username.replace(/[^\w.@-]/g, '') || 'operator'
}

/** Reads the key, or creates it if there is none. */
export function openLocalKey(warn: Warn): LocalKey {
  removeLegacyKey(warn)
  const name = localPerson()
  try {
    return { name, key: readLocalKey(warn) ?? writeLocalKey(warn) }
  } catch (error) {
    const reason = messageOf(error)
    throw new OperatorError(
      'failed',
      `Your approval key cannot be stored in ${localKeyFile()}: ${reason}`,
      'Set ASYNCGATE_CONFIG_DIR to a folder of yours that no agent can read, or ASYNCGATE_ADMIN_KEYS.',
    )
  }
}

/** Whether other accounts may read the file of the key. */
export function isLocalKeyShared(): boolean {
  const stats = statSync(localKeyFile(), { throwIfNoEntry: false })
  return process.platform !== 'win32' && stats !== undefined && (stats.mode & 0o077) !== 0
}

function readLocalKey(warn: Warn): string | undefined {
  const file = localKeyFile()
  if (!existsSync(file)) return undefined
  if (isLocalKeyShared()) {
    chmodSync(file, 0o600)
    warn(
      `${file} was readable by other users. Its permissions are corrected; delete the file to get a new key.`,
    )
  }
  return readFileSync(file, 'utf8').trim() || undefined
}

/** The key for callers that can do without it: undefined if there is none or it cannot be read. */
export function readableLocalKey(warn: Warn): string | undefined {
  try {
    return readLocalKey(warn)
  } catch {
    return undefined
  }
}

function writeLocalKey(warn: Warn): string {
  const key = randomBytes(24).toString('base64url')
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(localKeyFile(), `${key}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    // Two servers that start at the same time both use the key of the first. An empty file is replaced.
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!exists) throw error
    const first = readLocalKey(warn)
    if (first !== undefined) return first
    writeFileSync(localKeyFile(), `${key}\n`, { mode: 0o600 })
  }
  return key
}

function removeLegacyKey(warn: Warn): void {
  if (!existsSync(LEGACY_FILE)) return
  rmSync(LEGACY_FILE, { force: true })
  warn(`${LEGACY_FILE} was removed and is no longer valid: your key is in ${localKeyFile()}.`)
}
