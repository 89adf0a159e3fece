import type { JSONWebKeySet } from 'jose'
import { Fault } from '../core/errors.ts'
import { isObject } from '../util/guards.ts'
import { type IssuerKeys, loadJose, type TokenIssuer } from './access-tokens.ts'
import type { ClaimNames } from './token-claims.ts'

export interface RemoteIssuerOptions {
  readonly issuer: string
  readonly claims: ClaimNames
  readonly tenant: string | null
  /** Fetches a JSON document; undefined if the server has none at this URL. */
  readonly fetchJson: (url: string) => Promise<unknown>
  readonly onError: (error: unknown) => void
}

/** Keys older than this are loaded again while they are still used. */
const REFRESH_MS = 10 * 60_000
/** Keys older than this are no longer used. */
const MAX_AGE_MS = 24 * 3600_000
/** Tokens with unknown keys, which anyone can send, load the keys no more often than this. */
const COOLDOWN_MS = 30_000
/** An issuer that could not be reached is not tried again for this time. */
const RETRY_MS = 5_000

/** HMAC is not among them: its key would be the public key of the issuer. */
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

interface Loaded extends IssuerKeys {
  readonly at: number
}

/** An issuer elsewhere: its keys are found through its metadata and cached. */
export class RemoteIssuer implements TokenIssuer {
  readonly issuer: string
  readonly claims: ClaimNames
  readonly tenant: string | null
  readonly #options: RemoteIssuerOptions
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(options: RemoteIssuerOptions) {
    this.#options = options
    this.issuer = options.issuer
    this.claims = options.claims
    this.tenant = options.tenant
  }

  async keys(): Promise<IssuerKeys> {
    const loaded = this.#loaded
    const age = loaded === undefined ? Number.POSITIVE_INFINITY : performance.now() - loaded.at
    if (loaded === undefined || age > MAX_AGE_MS) return this.#load()
    // The failure was reported, and the keys in use are still good.
    if (age > REFRESH_MS) this.#load().catch(() => {})
    return loaded
  }

  async newerKeys(than: IssuerKeys): Promise<IssuerKeys | undefined> {
    const loaded = this.#loaded
    if (loaded !== undefined && loaded !== than) return loaded
    if (loaded !== undefined && performance.now() - loaded.at < COOLDOWN_MS) return undefined
    return this.#load()
  }

  #load(): Promise<Loaded> {
    if (performance.now() - this.#failedAt < RETRY_MS) return Promise.reject(unavailable())
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #fetch(): Promise<Loaded> {
    try {
      const { createLocalJWKSet } = await loadJose()
      const metadata = await this.#metadata()
      const keys = await this.#options.fetchJson(String(metadata.jwks_uri))
      if (!isKeySet(keys)) throw new Error(`${metadata.jwks_uri} is not a JSON Web Key Set`)
      const loaded = {
        find: createLocalJWKSet(keys),
        algorithms: algorithmsOf(metadata.id_token_signing_alg_values_supported),
        at: performance.now(),
      }
      this.#loaded = loaded
      return loaded
    } catch (error) {
      this.#failedAt = performance.now()
      this.#options.onError(error)
      throw unavailable()
    }
  }

  /** The metadata of RFC 8414, or of OpenID Connect Discovery. */
  async #metadata(): Promise<Readonly<Record<string, unknown>>> {
    const { origin, pathname } = new URL(this.issuer)
    const path = pathname.replace(/\/$/, '')
    const urls = [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]
    for (const url of urls) {
      const found = await this.#options.fetchJson(url)
      if (!isObject(found)) continue
      if (found.issuer !== this.issuer) throw new Error(`${url} is for the issuer ${found.issuer}`)
      if (typeof found.jwks_uri === 'string') return found
    }
    throw new Error(`The issuer ${this.issuer} has no metadata with a jwks_uri`)
  }
}

function algorithmsOf(supported: unknown): readonly string[] {
  const named: readonly unknown[] = Array.isArray(supported) ? supported : []
  return ASYMMETRIC.filter((algorithm) => algorithm === 'RS256' || named.includes(algorithm))
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject)
}

function unavailable(): Fault {
  return new Fault('ISSUER_UNAVAILABLE')
}
