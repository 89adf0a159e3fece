import { hash, randomBytes } from 'node:crypto'
import type { JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { Fault } from '../core/errors.ts'
import { isObject } from '../util/guards.ts'
import { loadOptional } from '../util/load-optional.ts'
import type { BoundCredential, TokenVerifier } from './credential.ts'
import { type ClaimNames, type Claims, credentialOfClaims, invalidToken } from './token-claims.ts'

/** The keys of an issuer. */
export interface IssuerKeys {
  readonly find: JWTVerifyGetKey
  /** The signature algorithms that the issuer uses, all of them asymmetric. */
  readonly algorithms: readonly string[]
}

/** An issuer whose access tokens are accepted. */
export interface TokenIssuer {
  readonly issuer: string
  readonly claims: ClaimNames
  /** The tenant of tokens that name none; null: they are refused. */
  readonly tenant: string | null
  keys(): Promise<IssuerKeys>
  /** Other keys than the ones given, if the issuer has published new ones; undefined if it has not. */
  newerKeys(than: IssuerKeys): Promise<IssuerKeys | undefined>
}

export interface AccessTokensOptions {
  readonly issuer: TokenIssuer
  /** The names of this server as an audience. They are known once the server listens. */
  readonly audiences: () => readonly string[]
}

/** How long a verified token is recognized without being verified again. */
const KNOWN_MS = 60_000
const MAX_KNOWN = 10_000
const MAX_TOKEN_LENGTH = 16 * 1024
const CLOCK_TOLERANCE_SECONDS = 5
const MAX_TIMER_MS = 2 ** 31 - 1

const JWT = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/
/** Access tokens of issuers that follow RFC 9068 have the first; others have the type of any JWT, or none. */
const TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt'])

interface Known {
  readonly credential: BoundCredential
  readonly until: number
}

/** Authenticates access tokens, which are JWTs of an issuer that the operator trusts. */
export class AccessTokens implements TokenVerifier {
  readonly #options: AccessTokensOptions
  readonly #salt = randomBytes(32).toString('base64')
  /** By digest, the least recently verified first. */
  readonly #known = new Map<string, Known>()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(options: AccessTokensOptions) {
    this.#options = options
  }

  isToken(text: string): boolean {
    return JWT.test(text)
  }

  verify(text: string): BoundCredential | Promise<BoundCredential> {
    const digest = hash('sha256', this.#salt + text, 'base64')
    const known = this.#known.get(digest)
    if (known !== undefined && known.until > Date.now()) return known.credential
    return this.#verify(text, digest)
  }

  watch({ token }: BoundCredential, end: () => void): () => void {
    if (token === undefined) return () => {}
    const left = token.expires_at - Date.now()
    // A timer cannot be longer; a response is not open for so long.
    if (left > MAX_TIMER_MS) return () => {}
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      end()
    }, left).unref()
    this.#timers.add(timer)
    return () => {
      clearTimeout(timer)
      this.#timers.delete(timer)
    }
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#known.clear()
  }

  async #verify(text: string, digest: string): Promise<BoundCredential> {
    if (text.length > MAX_TOKEN_LENGTH) throw invalidToken()
    const { issuer } = this.#options
    // No key is looked up for a token of another issuer.
    if (unverifiedClaims(text).iss !== issuer.issuer)
      throw invalidToken('The access token is from another issuer.')
    const claims = await this.#claims(text, await issuer.keys())
    const expires_at = Number(claims.exp) * 1000
    const credential: BoundCredential = {
      ...credentialOfClaims(claims, issuer.claims, issuer.tenant),
      token: { expires_at, ...(typeof claims.grant_id === 'string' && { grant_id: claims.grant_id }) },
    }
    this.#known.delete(digest)
    this.#known.set(digest, { credential, until: Math.min(expires_at, Date.now() + KNOWN_MS) })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest)
    return credential
  }

  /** The verified claims. Keys of the issuer are loaded again if the token names one that is unknown. */
  async #claims(text: string, keys: IssuerKeys): Promise<Claims> {
    const { issuer, audiences } = this.#options
    const { errors, jwtVerify } = await loadJose()
    const options: JWTVerifyOptions = {
      issuer: issuer.issuer,
      algorithms: [...keys.algorithms],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['aud', 'exp', 'iat', 'sub'],
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(text, keys.find, options)
      const { typ = 'JWT' } = protectedHeader
      if (!TYPES.has(typ.toLowerCase())) throw invalidToken('The token is not an access token.')
      checkAudience(payload.aud, audiences())
      if ((payload.iat ?? 0) > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS)
        throw invalidToken('The access token was issued in the future.')
      return payload
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) {
        const newer = await issuer.newerKeys(keys)
        if (newer !== undefined) return this.#claims(text, newer)
      }
      if (error instanceof errors.JWTExpired) throw invalidToken('The access token has expired.')
      // Everything else is a token, or a key of the issuer, that cannot be used.
      throw error instanceof Fault ? error : invalidToken()
    }
  }
}

export function loadJose() {
  return loadOptional('jose', 'OAuth', () => import('jose'))
}

function checkAudience(given: string | readonly string[] | undefined, own: readonly string[]): void {
  const accepted = own.map(withoutSlash)
  const named = typeof given === 'string' ? [given] : (given ?? [])
  if (!named.some((audience) => accepted.includes(withoutSlash(audience))))
    throw invalidToken('The access token is for another audience.')
}

/** The identifier of a resource with an empty path is written with and without a slash. */
function withoutSlash(audience: string): string {
  return audience.replace(/\/$/, '')
}

function unverifiedClaims(text: string): Claims {
  try {
    const claims: unknown = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString())
    return isObject(claims) ? claims : {}
  } catch {
    throw new Fault('UNAUTHENTICATED')
  }
}
