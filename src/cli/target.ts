import { isIP } from 'node:net'
import type { LocalAddress } from '../auth/local-proof.ts'
import { ConfigError, type Line, reportConfig } from '../config/index.ts'
import { isLoopback } from '../config/refusals.ts'
import { DEFAULT_URL, type ServerValues } from '../config/server.ts'
import { readableLocalKey } from '../server/local-key.ts'
import { dataFolder, runningServers, versionAt } from '../server/server-file.ts'
import { CliError, EXIT } from './exit.ts'
import { warn } from './output.ts'

/** The server that a command calls. */
export interface Target {
  readonly url: string
  readonly key: string | null
  /** Option that hints add to a command so that it calls the same server. */
  readonly option: string
  /** The approval key of the user and the address that proofs are made for, if the server is on this machine. */
  readonly local?: { readonly key: string; readonly at: LocalAddress }
  /** Why the key of the config file was not sent. */
  readonly withheld?: string
}

interface Asked {
  readonly url: string | undefined
  readonly key: string | undefined
  /** The config file, if one was given. */
  readonly file?: string | undefined
  /** Whether the user calls, and not another principal (--as). */
  readonly isPerson?: boolean
}

/**
 * Finds the server: --url, ASYNCGATE_URL, the config file (url, or host and port), a server that runs in this folder, or
 * the default. A key of the config file is sent only to the server of that file. The approval key of the user is never
 * sent: a server on this machine receives a proof that is not valid for another server.
 */
export async function findTarget({ url, key, file, isPerson = false }: Asked): Promise<Target> {
  const report = reportConfig({ env: process.env, file, flags: { url, api_key: key } })
  const { config, lines, problems } = report
  if (config === undefined) throw new ConfigError(problems)
  const line = (name: string) => lines.find((candidate) => candidate.name === name)
  const { server, database } = config
  const named = originOf(line('url')) === 'default' ? undefined : server.url
  const listening = listeningUrl(
    server,
    ['host', 'port'].some((name) => originOf(line(name)) !== 'default'),
  )
  const folders = new Set([dataFolder(database), DATA_FOLDER])
  const running = (await Promise.all([...folders].map(runningServers))).flat()
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
    const withheld = `The api_key of ${line('api_key')?.origin} was not sent: that file is for another server.`
    return { key: null, option, withheld, ...there }
  }
  return { key: server.api_key, option, ...there }
}

/** Adds the approval key of the user, if they have one and the server is on this machine. */
async function withLocalKey(url: string): Promise<Pick<Target, 'url' | 'local'>> {
  const key = readableLocalKey(warn)
  const found = key === undefined ? undefined : await localAt(url)
  return key === undefined || found === undefined ? { url } : { url: found.url, local: { key, at: found.at } }
}

/** The address of a server on this machine. A proof is for one address, so a host name is resolved to the one that responds. */
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

/** Default data folder of a server. */
const DATA_FOLDER = '.asyncgate'

function originOf(line: Line | undefined): 'default' | 'flag' | 'environment' | 'file' {
  const origin = line?.origin ?? 'default'
  if (origin === 'default') return 'default'
  if (origin.startsWith('--')) return 'flag'
  return line !== undefined && origin.startsWith(line.variable) ? 'environment' : 'file'
}

/** The URL of a server with these settings; undefined if the settings do not determine it. */
function listeningUrl(
  { host, port, tls_cert_file, public_url }: ServerValues,
  given: boolean,
): string | undefined {
  if (tls_cert_file !== null && public_url !== null) return public_url
  if (!given || port === 0) return undefined
  const name = /^(0\.0\.0\.0|\[?::\]?)$/.test(host) ? '127.0.0.1' : host
  return `${tls_cert_file === null ? 'http' : 'https'}://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

function checkedUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/$/, '')
  throw new CliError(EXIT.usage, `"${url}" is not a URL.`, 'Give --url as in http://127.0.0.1:8080.')
}

/** Whether two URLs are those of the same server. localhost and 127.0.0.1 are the same host. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)]
  const isLocal = ({ hostname }: URL) => /^(localhost|127\.0\.0\.1)$/.test(hostname)
  const isSameHost = a.hostname === b.hostname || (isLocal(a) && isLocal(b))
  return isSameHost && a.port === b.port && a.protocol === b.protocol
}
