import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Fault } from '../core/errors.ts'

export interface GuardSettings {
  /** Host names that requests may be addressed to, without port. Loopback names are always allowed. */
  readonly allowed_hosts: readonly string[]
  /** Origins of web pages that may call, as `scheme://host[:port]`. Loopback origins are always allowed. */
  readonly allowed_origins: readonly string[]
  /** Whether clients on other machines use https, because the server or a proxy speaks TLS. */
  readonly https?: boolean
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A Host header that needs no URL parser: a name or IPv4 address, and a port. */
const PLAIN_HOST = /^([a-z0-9.-]+)(?::\d{1,5})?$/

/** Refuses requests of other web pages, which name their own host or origin. */
export function checkHostAndOrigin(headers: IncomingHttpHeaders, settings: GuardSettings): void {
  checkHost(headers, settings)
  const { origin } = headers
  if (origin === undefined || isAllowedOrigin(origin, settings)) return
  if (!LOOPBACK.has(hostName(origin) ?? '')) {
    throw new Fault('FORBIDDEN', { header: 'Origin' }, 'The Origin header is not allowed.')
  }
}

/** Refuses requests to other host names, which protects against DNS rebinding. */
export function checkHost(headers: IncomingHttpHeaders, settings: GuardSettings): void {
  const host = requestedHost(headers)
  if (host === undefined || !(LOOPBACK.has(host) || settings.allowed_hosts.includes(host))) {
    throw new Fault('FORBIDDEN', { header: 'Host' }, 'The Host header is not allowed.')
  }
}

/** Whether pages of this origin may read responses. */
export function isAllowedOrigin(origin: string | undefined, settings: GuardSettings): boolean {
  return origin !== undefined && settings.allowed_origins.includes(origin)
}

/** Whether the client of a request uses https. Programs on this machine may use http beside a proxy. */
export function isHttps({ headers, socket }: IncomingMessage, { https }: GuardSettings): boolean {
  if ('encrypted' in socket || headers['x-forwarded-proto'] === 'https') return true
  return https === true && !LOOPBACK.has(requestedHost(headers) ?? '')
}

/** The name in the Host header, without port. */
function requestedHost({ host = '' }: IncomingHttpHeaders): string | undefined {
  return PLAIN_HOST.exec(host)?.[1] ?? hostName(`http://${host}`)
}

function hostName(url: string): string | undefined {
  try {
    return new URL(url).hostname
  } catch {
    return undefined
  }
}
