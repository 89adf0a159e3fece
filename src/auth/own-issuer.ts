import type { KeySet, SigningKeys } from '../features/oauth/signing-keys.ts'
import { type IssuerKeys, loadJose, type TokenIssuer } from './access-tokens.ts'
import { OWN_CLAIMS } from './token-claims.ts'

/** Tokens with unknown keys, which anyone can send, load the keys no more often than this. */
const COOLDOWN_MS = 1000
/** Keys that were read longer ago are read again: an old key may have expired. */
const REFRESH_MS = 60_000

/** The authorization server of AsyncGate as the issuer of tokens. Its keys are those of the database. */
export class OwnIssuer implements TokenIssuer {
  readonly claims = OWN_CLAIMS
  readonly tenant = null
  readonly #url: () => string
  readonly #signingKeys: Pick<SigningKeys, 'load'>
  #loaded: { readonly of: KeySet; readonly keys: IssuerKeys } | undefined
  #loadedAt = Number.NEGATIVE_INFINITY

  /** The URL is known once the server listens. */
  constructor(url: () => string, signingKeys: Pick<SigningKeys, 'load'>) {
    this.#url = url
    this.#signingKeys = signingKeys
  }

  get issuer(): string {
    return this.#url()
  }

  async keys(): Promise<IssuerKeys> {
    const isFresh = performance.now() - this.#loadedAt < REFRESH_MS
    return this.#loaded !== undefined && isFresh ? this.#loaded.keys : this.#load()
  }

  async newerKeys(than: IssuerKeys): Promise<IssuerKeys | undefined> {
    if (this.#loaded !== undefined && this.#loaded.keys !== than) return this.#loaded.keys
    if (performance.now() - this.#loadedAt < COOLDOWN_MS) return undefined
    const keys = await this.#load()
    return keys === than ? undefined : keys
  }

  async #load(): Promise<IssuerKeys> {
    const { createLocalJWKSet } = await loadJose()
    const of = await this.#signingKeys.load()
    this.#loadedAt = performance.now()
    if (this.#loaded?.of === of) return this.#loaded.keys
    const published = of.keys.map(({ kid, jwk: { n, e } }) => ({
      kty: 'RSA',
      alg: 'RS256',
      use: 'sig',
      kid,
      n,
      e,
    }))
    const keys = { find: createLocalJWKSet({ keys: published }), algorithms: ['RS256'] }
    this.#loaded = { of, keys }
    return keys
  }
}
