import { isIP } from 'node:net'
import { kindOf } from './address.ts'
import { allowedPrivateHosts, type PrivatePlaces } from './private-places.ts'
import type { EgressSettings } from './settings.ts'

/** A URL that may be fetched if its addresses may. */
export interface Target {
  readonly url: URL
  /** The name or address of the host, without brackets and without the dot at its end. */
  readonly host: string
  readonly port: number
  readonly isAddress: boolean
}

type Verdict<T> =
  | { readonly allowed: true; readonly value: T }
  | { readonly allowed: false; readonly reason: string }

const MAX_URL_LENGTH = 8_192

/** What may be fetched, decided from the text of a URL and the addresses that its host turned out to have. */
export class Policy {
  readonly settings: EgressSettings
  readonly #places: PrivatePlaces

  constructor(settings: EgressSettings) {
    this.settings = settings
    this.#places = allowedPrivateHosts(settings.allowed_private)
  }

  /** The parser of URLs has already turned every spelling of an IPv4 address into the usual one. */
  checkUrl(text: string): Verdict<Target> {
    if (text.length > MAX_URL_LENGTH) return refuse(`it is longer than ${MAX_URL_LENGTH} characters`)
    if (!URL.canParse(text)) return refuse('it is not a URL')
    const url = new URL(text)
    const { allow_http, allowed_ports } = this.settings
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allow_http))
      return refuse(`${url.protocol} is not allowed`)
    if (url.username !== '' || url.password !== '') return refuse('it has a user name or a password in it')
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    // The parser leaves the port empty if it is the usual one.
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

  /** Every address has to be allowed: which of several is connected to is a matter of chance. */
  checkAddresses({ host }: Pick<Target, 'host'>, addresses: readonly string[]): Verdict<readonly string[]> {
    if (addresses.length === 0) return refuse(`${host} has no address`)
    const bad = addresses.find((address) => !this.#isAllowed(host, address))
    if (bad !== undefined) return refuse(`${host} is at ${bad}, which is ${kindOf(bad)}`)
    return { allowed: true, value: addresses }
  }

  /** Leave for a name is leave for a private address; a reserved one has to be in the list itself. */
  #isAllowed(host: string, address: string): boolean {
    const kind = kindOf(address)
    if (kind === 'public' || this.#places.hasAddress(address)) return true
    return kind === 'private' && this.#places.hasHost(host)
  }
}

function refuse(reason: string): { allowed: false; reason: string } {
  return { allowed: false, reason }
}
