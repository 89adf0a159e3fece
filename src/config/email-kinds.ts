import { createPublicKey } from 'node:crypto'
import { domainOf, isAddress } from '../core/address.ts'
import { Kind, list, text } from './kinds.ts'

export const address = new Kind<string>('an address like gate@example.com', (value) =>
  typeof value === 'string' && isAddress(value.trim()) ? value.trim() : undefined,
)

export const domain = new Kind<string>('a domain like example.com', (value) =>
  typeof value === 'string' ? domainFrom(value.trim()) : undefined,
)

/** `*` matches every address. */
export const correspondents = list('addresses and domains, separated by commas, or *', (item) =>
  item === '*' || isAddress(item) ? item.toLowerCase() : domainFrom(item.replace(/^@/, '')),
)

export const names = list('names, separated by commas', (item) => (item.length <= 255 ? item : undefined))

function domainFrom(name: string): string | undefined {
  return isAddress(`x@${name}`) ? domainOf(`x@${name}`) : undefined
}

/** SendGrid shows the key as base64 in one line. */
export const sendGridKey = new Kind<string>('the public key in base64 that SendGrid shows', (value) => {
  const key = text.read(value)
  if (key === undefined) return undefined
  try {
    createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
    return key
  } catch {
    return undefined
  }
})

export const scanner = new Kind<string>('tcp://HOST:PORT or unix:PATH', (value) => {
  const url = text.read(value)
  if (url === undefined || /^unix:\/.+/.test(url)) return url
  return /^tcp:\/\//.test(url) && URL.canParse(url) && new URL(url).hostname !== '' ? url : undefined
})

/** Address and credentials of an email server. */
export interface Login {
  /** Implicit TLS. */
  readonly secure: boolean
  readonly host: string
  readonly port: number | null
  readonly user: string | null
  readonly password: string | null
}

export function login(scheme: 'smtp' | 'imap'): Kind<Login> {
  return new Kind(
    `${scheme}s://USER:PASSWORD@HOST or ${scheme}://USER:PASSWORD@HOST:PORT, with special characters percent-encoded`,
    (value) => {
      if (typeof value !== 'string' || !URL.canParse(value.trim())) return undefined
      const url = new URL(value.trim())
      const rest = url.pathname === '' || url.pathname === '/' ? url.search + url.hash : 'path'
      if ((url.protocol !== `${scheme}:` && url.protocol !== `${scheme}s:`) || rest !== '') return undefined
      const [user, password] = [decoded(url.username), decoded(url.password)]
      if (url.hostname === '' || user === undefined || password === undefined) return undefined
      return {
        secure: url.protocol === `${scheme}s:`,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? null : Number(url.port),
        user: user === '' ? null : user,
        password: password === '' ? null : password,
      }
    },
  )
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** The name of a DKIM key in the DNS. */
export const selector = new Kind<string>('a name of letters, digits, dots and hyphens', (value) =>
  typeof value === 'string' && /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(value)
    ? value
    : undefined,
)
