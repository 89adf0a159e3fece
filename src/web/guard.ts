import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../core/errors.ts'

export interface GuardSettings {
  /** Host names that requests may be addressed to, without port. Loopback names are always allowed. */
  readonly allowed_hosts: readonly string[]
  /** Origins of web pages that may call, as `scheme://host[:port]`. Loopback origins are always allowed. */
  readonly allowed_origins: readonly string[]
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Keeps web pages of strangers out: a page that was made to call us names its own host or origin. */
export function checkHostAndOrigin(headers: IncomingHttpHeaders, settings: GuardSettings): void {
  const host = hostName(`http://${headers.host ?? ''}`)
  if (host === undefined || !(LOOPBACK.has(host) || settings.allowed_hosts.includes(host))) {
    throw new Fault('FORBIDDEN', { header: 'Host' }, 'The Host header is not an allowed one.')
  }
  const { origin } = headers
  if (origin === undefined || settings.allowed_origins.includes(origin)) return
  if (!LOOPBACK.has(hostName(origin) ?? '')) {
    throw new Fault('FORBIDDEN', { header: 'Origin' }, 'The Origin header is not an allowed one.')
  }
}

function hostName(url: string): string | undefined {
  try {
    return new URL(url).hostname
  } catch {
    return undefined
  }
}
