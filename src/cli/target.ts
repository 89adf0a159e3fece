import { isIP } from 'node:net'
import type { LocalAddress } from '../auth/local-proof.ts'
import { ConfigError, type Line, reportConfig } from '../config/index.ts'
import { isLoopback } from '../config/refusals.ts'
import { DEFAULT_URL } from '../config/server.ts'
import { readableLocalKey } from '../server/local-key.ts'
import { dataFolder, runningServers, type ServerRecord, versionAt } from '../server/server-file.ts'
import { CliError, EXIT } from './exit.ts'
import { warn } from './output.ts'

/** The server that a command talks to. */
export interface Target {
  readonly url: string
  readonly key: string | null
  /** What hints add to a command so that it talks to the same server. */
  readonly option: string
  /** The key of the person, for proofs at this address, if the server is on this machine. */
  readonly local?: { readonly key: string; readonly at: LocalAddress }
  /** Why a key that is kept in this folder was not sent. */
  readonly withheld?: string
}

interface Asked {
  readonly url: string | undefined
  readonly key: string | undefined
  /** The config file, if it is named. */
  readonly file?: string | undefined
  /** Whether it is the person who runs the command that calls, and not somebody on whose behalf they do. */
  readonly isPerson?: boolean
}

/**
 * Finds the server: --url, ASYNCGATE_URL, the config file (url, or host and port), a server that runs in this folder, the
 * default. A key of the config file goes only to the server of that file. The key of the person goes nowhere: a server
 * on this machine gets a proof that is worth nothing elsewhere.
 */
export async function findTarget({ url, key, file, isPerson = false }: Asked): Promise<Target> {
  const report = reportConfig({ env: process.env, file, flags: { url, api_key: key } })
  const { config, lines, problems } = report
  if (config === undefined) throw new ConfigError(problems)
  const line = (name: string) => lines.find((candidate) => candidate.name === name)
  const { server, database } = config
  const named = originOf(line('url')) === 'default' ? undefined : server.url
  const listening = listeningUrl(server.host, server.port, [line('host'), line('port')].some(isGiven))
  const running = await runningIn([...new Set([dataFolder(database), DATA_FOLDER])])
  const [first] = running
  const found = checkedUrl(named ?? listening ?? first?.url ?? DEFAULT_URL)
  const record = running.find((candidate) => isSame(candidate.url, found))
  const target = record?.url ?? found
  const there = isPerson ? await withLocalKey(target) : { url: target }
  const option = originOf(line('url')) === 'flag' ? ` --url ${found}` : ''

  const keyFrom = originOf(line('api_key'))
  const isStored = server.api_key !== null && keyFrom === 'file'
  const isOurs =
    originOf(line('url')) === 'file' || record !== undefined || isSame(found, listening ?? DEFAULT_URL)
  if (isStored && !isOurs) {
    const withheld = `The api_key of ${line('api_key')?.origin} was not sent: that file is about another server.`
    return { key: null, option, withheld, ...there }
  }
  return { key: server.api_key, option, ...there }
}

/** The server with the key of the person, where it is one of this machine and the person has a key. */
async function withLocalKey(url: string): Promise<Pick<Target, 'url' | 'local'>> {
  const key = readableLocalKey(warn)
  const found = key === undefined ? undefined : await localAt(url)
  return key === undefined || found === undefined ? { url } : { url: found.url, local: { key, at: found.at } }
}

/** The address of a server on this machine: a proof is for one address, so a name is replaced with the one that answers. */
async function localAt(url: string): Promise<{ url: string; at: LocalAddress } | undefined> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'http:' || !isLoopback(hostname)) return undefined
  const at = (address: string): LocalAddress => ({ address, port: Number(port || 80) })
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0) return { url, at: at(literal) }
  for (const [name, address] of [
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
  ] as const) {
    const candidate = url.replace(hostname, name)
    if ((await versionAt(candidate)) !== undefined) return { url: candidate, at: at(address) }
  }
  return undefined
}

/** Where a server keeps its data by default. */
const DATA_FOLDER = '.asyncgate'

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
