import { isIP } from 'node:net'
import { Networks } from '../util/networks.ts'
import { kindOf } from './address.ts'
import type { EgressSettings } from './settings.ts'

/** A URL that is allowed if its addresses are. */
export interface Target {
  readonly url: URL
  /** The host name or address, without brackets and without a trailing dot. */
  readonly host: string
  readonly port: number
  readonly isAddress: boolean
}

type Verdict<T> =
  | { readonly allowed: true; readonly value: T }
  | { readonly allowed: false; readonly reason: string }

const MAX_URL_LENGTH = 8_192

/** Decides whether a URL may be fetched, from its text and the addresses of its host. */
export class Policy {
  readonly settings: EgressSettings
  readonly #private: PrivateHosts

  constructor(settings: EgressSettings) {
    this.settings = settings
    this.#private = allowedPrivateHosts(settings.allowed_private)
  }

  /** The URL parser has normalized all forms of an IPv4 address. */
  checkUrl(text: string): Verdict<Target> {
    if (text.length > MAX_URL_LENGTH) return refuse(`it is longer than ${MAX_URL_LENGTH} characters`)
    if (!URL.canParse(text)) return refuse('it is not a URL')
    const url = new URL(text)
    const { allow_http, allowed_ports } = this.settings
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allow_http))
      return refuse(`${url.protocol} is not allowed`)
    if (url.username !== '' || url.password !== '') return refuse('it contains a user name or a password')
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    // The parser leaves a default port empty.
    const isAllowed =
      allowed_ports === 'default' ? url.port === '' : allowed_ports === 'any' || allowed_ports.includes(port)
    if (!isAllowed) return refuse(`port ${port} is not allowed`)
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
    if (host === '') return refuse('it has no host')
    const isAddress = isIP(host) !== 0
    const target = { url, host, port, isAddress }
    if (!isAddress) return { allowed: true, value: target }
    const checked = this.checkAddresses(target, [host])
    return checked.allowed ? { allowed: true, value: target } : checked
  }

  /** Every address must be allowed, because any of them may be used for the connection. */
  checkAddresses({ host }: Pick<Target, 'host'>, addresses: readonly string[]): Verdict<readonly string[]> {
    if (addresses.length === 0) return refuse(`${host} has no address`)
    const bad = addresses.find((address) => !this.#isAllowed(host, address))
    if (bad !== undefined) return refuse(`${host} is at ${bad}, which is ${kindOf(bad)}`)
    return { allowed: true, value: addresses }
  }

  /** An allowed host name allows private addresses; a reserved address must be in the list itself. */
  #isAllowed(host: string, address: string): boolean {
    const kind = kindOf(address)
    if (kind === 'public' || this.#private.hasAddress(address)) return true
    return kind === 'private' && this.#private.hasHost(host)
  }
}

function refuse(reason: string): { allowed: false; reason: string } {
  return { allowed: false, reason }
}

/** The private hosts and addresses that the operator allows. */
interface PrivateHosts {
  hasHost(host: string): boolean
  hasAddress(address: string): boolean
}

const HOST_NAME = /^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** Parses host names, addresses and networks. Throws a RangeError for anything else. */
export function allowedPrivateHosts(entries: readonly string[]): PrivateHosts {
  const given = entries.map((entry) => entry.trim().toLowerCase().replace(/\.$/, ''))
  const hosts = new Set(given.filter(isHostName))
  const networks = new Networks(given.filter((entry) => !isHostName(entry)))
  return {
    hasHost: (host) => hosts.has(host),
    hasAddress: (address) => networks.has(address),
  }
}

/** A name cannot end in a number: such a host is a form of an IPv4 address. */
function isHostName(entry: string): boolean {
  return HOST_NAME.test(entry) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(entry)
}
