import { dirname } from 'node:path'
import { DEFAULT_URL } from '../config/server.ts'
import { ConfigError, type Line, reportConfig } from '../config.ts'
import { CliError, EXIT } from './exit.ts'
import { OWN_KEY_FILE, readOwnKey } from './own-key.ts'
import { dataFolder, runningServers, type ServerRecord } from './server-file.ts'

/** The server that a command talks to. */
export interface Target {
  readonly url: string
  readonly key: string | null
  /** What hints add to a command so that it talks to the same server. */
  readonly option: string
  /** Why a key that is kept in this folder was not sent. */
  readonly withheld?: string
}

interface Asked {
  readonly url: string | undefined
  readonly key: string | undefined
  /** The config file, if it is named. */
  readonly file?: string | undefined
  /** Whether the person may act with the key of the gateway of this folder. */
  readonly mayUseOwnKey?: boolean
}

/**
 * Finds the server: --url, ASYNCGATE_URL, the config file (url, or host and port), a server that runs in this folder, the
 * default. A key that is kept in this folder goes only to the server that it belongs to.
 */
export async function findTarget({ url, key, file, mayUseOwnKey = false }: Asked): Promise<Target> {
  const report = reportConfig({ env: process.env, file, flags: { url, api_key: key } })
  const { config, lines, problems } = report
  if (config === undefined) throw new ConfigError(problems)
  const line = (name: string) => lines.find((candidate) => candidate.name === name)
  const { server, database } = config
  const named = originOf(line('url')) === 'default' ? undefined : server.url
  const listening = listeningUrl(server.host, server.port, [line('host'), line('port')].some(isGiven))
  const running = await runningIn([...new Set([dataFolder(database), dirname(OWN_KEY_FILE)])])
  const [first] = running
  const found = checkedUrl(named ?? listening ?? first?.url ?? DEFAULT_URL)
  const record = running.find((candidate) => isSame(candidate.url, found))
  const target = record?.url ?? found
  const option = originOf(line('url')) === 'flag' ? ` --url ${found}` : ''

  const keyFrom = originOf(line('api_key'))
  const isStored = server.api_key !== null && keyFrom === 'file'
  const isOurs =
    originOf(line('url')) === 'file' || record !== undefined || isSame(found, listening ?? DEFAULT_URL)
  if (isStored && !isOurs) {
    const withheld = `The api_key of ${line('api_key')?.origin} was not sent: that file is about another server.`
    return { url: target, key: null, option, withheld }
  }
  const own = mayUseOwnKey && record?.own_key ? readOwnKey() : undefined
  return { url: target, key: server.api_key ?? own ?? null, option }
}

async function runningIn(folders: readonly string[]): Promise<readonly ServerRecord[]> {
  const found = await Promise.all(folders.map(runningServers))
  return found.flat()
}

function originOf(line: Line | undefined): 'default' | 'flag' | 'environment' | 'file' {
  const origin = line?.origin ?? 'default'
  if (origin === 'default') return 'default'
  if (origin.startsWith('--')) return 'flag'
  return origin === line?.variable ? 'environment' : 'file'
}

function isGiven(line: Line | undefined): boolean {
  return originOf(line) !== 'default'
}

/** Where a server with these settings listens; undefined if they do not say it. */
function listeningUrl(host: string, port: number, given: boolean): string | undefined {
  if (!given || port === 0) return undefined
  const name = /^(0\.0\.0\.0|\[?::\]?)$/.test(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

function checkedUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/$/, '')
  throw new CliError(EXIT.usage, `"${url}" is not a URL.`, 'Give --url as in http://127.0.0.1:8080.')
}

/** Whether two URLs lead to one server. Of names only localhost is known: it is this machine. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)]
  const isLocal = ({ hostname }: URL) => /^(localhost|127\.0\.0\.1)$/.test(hostname)
  const isSameHost = a.hostname === b.hostname || (isLocal(a) && isLocal(b))
  return isSameHost && a.port === b.port && a.protocol === b.protocol
}
