import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Admit, Credential } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import { rateFault } from '../features/limits/fault.ts'
import { MemoryBuckets } from '../features/limits/memory-buckets.ts'
import { Networks } from '../util/networks.ts'

/** Requests of one address without a valid credential. */
export const FAILURE_LIMIT: RateLimit = { calls: 100, window_seconds: 60 }

/** Addresses that are remembered for one credential. */
const MAX_ADDRESSES = 1000

interface ClientsOptions {
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[]
  readonly failureLimit?: RateLimit
  /** For tests: the time in milliseconds. */
  readonly now?: () => number
}

type Request = Pick<IncomingMessage, 'headers' | 'socket'>

/** The clients of this server by address: behind trusted proxies, and limited in failed attempts to authenticate. */
export class Clients {
  readonly #proxies: Networks
  readonly #hasProxies: boolean
  readonly #failureLimit: RateLimit
  readonly #failures: MemoryBuckets
  /** The number of expensive verifications that run or wait, by address. */
  readonly #pending = new Map<string, number>()
  /** The addresses from which a credential was accepted. */
  readonly #accepted = new WeakMap<Credential, Set<string>>()

  constructor({ trustedProxies = [], failureLimit = FAILURE_LIMIT, now }: ClientsOptions = {}) {
    this.#proxies = new Networks(trustedProxies)
    this.#hasProxies = trustedProxies.length > 0
    this.#failureLimit = failureLimit
    this.#failures = new MemoryBuckets(now)
  }

  /** The nearest address that is not a trusted proxy. */
  addressOf(request: Request): string | null {
    const peer = plain(request.socket.remoteAddress ?? '')
    if (!this.#hasProxies || !this.#proxies.has(peer)) return peer === '' ? null : peer
    const claimed = (forwardedFor(request) ?? '').split(',').map((address) => plain(address.trim()))
    let nearest = peer
    for (const address of claimed.reverse()) {
      if (isIP(address) === 0) break
      nearest = address
      if (!this.#proxies.has(address)) break
    }
    return nearest
  }

  /**
   * Authenticates a request. An address with too many failures is refused, whether or not its credential is valid, so that
   * it learns nothing more; except for credentials that were accepted from there before. It cannot cause expensive
   * verifications either: those that are pending count as failures until their result is known.
   */
  authenticate<Proof extends Credential | undefined>(
    request: Request,
    authenticate: (admit: Admit) => Proof | Promise<Proof>,
  ): Proof | Promise<Proof> {
    let release: (() => void) | undefined
    try {
      const found = authenticate(() => {
        release ??= this.#admit(this.addressOf(request) ?? '')
      })
      if (!(found instanceof Promise)) return this.#accept(request, found)
      return found.then(
        (known) => {
          release?.()
          return this.#accept(request, known)
        },
        (error: unknown) => {
          release?.()
          return this.#refuse(request, error)
        },
      )
    } catch (error) {
      release?.()
      return this.#refuse(request, error)
    }
  }

  /** Reserves one of the failures that the address has left. Returns a function that releases it. */
  #admit(address: string): () => void {
    const pending = this.#pending.get(address) ?? 0
    const bucket = this.#bucketOf(address)
    const [standing] = this.#failures.take([bucket], 0)
    if (standing !== undefined && standing.remaining <= pending) {
      throw rateFault(bucket, { retry_ms: this.#intervalMs })
    }
    this.#pending.set(address, pending + 1)
    return () => {
      const left = (this.#pending.get(address) ?? 1) - 1
      if (left === 0) this.#pending.delete(address)
      else this.#pending.set(address, left)
    }
  }

  #accept<Proof extends Credential | undefined>(request: Request, credential: Proof): Proof {
    if (credential === undefined) return credential
    const address = this.addressOf(request) ?? ''
    const addresses = this.#accepted.get(credential)
    if (addresses?.has(address)) return credential
    if (this.#failures.size > 0) {
      const bucket = this.#bucketOf(address)
      const [standing] = this.#failures.take([bucket], 0)
      if (standing?.remaining === 0) throw rateFault(bucket, { retry_ms: this.#intervalMs })
    }
    if (addresses === undefined) this.#accepted.set(credential, new Set([address]))
    else if (addresses.size < MAX_ADDRESSES) addresses.add(address)
    return credential
  }

  #refuse(request: Request, error: unknown): never {
    if (!(error instanceof Fault) || error.code !== 'UNAUTHENTICATED') throw error
    const bucket = this.#bucketOf(this.addressOf(request) ?? '')
    const [standing] = this.#failures.take([bucket], 1)
    throw standing === undefined || standing.isAllowed ? error : rateFault(bucket, standing)
  }

  #bucketOf(address: string) {
    return { level: 'address', name: `address:${address}`, limit: this.#failureLimit } as const
  }

  get #intervalMs(): number {
    const { calls, window_seconds } = this.#failureLimit
    return (window_seconds * 1000) / calls
  }
}

/** The addresses that proxies claim. Any client can send this. */
export function forwardedFor({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const given = headers['x-forwarded-for']
  return (Array.isArray(given) ? given.join(', ') : given) ?? null
}

/** An IPv4 address without its IPv6 form. */
function plain(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
