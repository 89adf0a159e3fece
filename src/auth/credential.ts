import { hash, timingSafeEqual } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import type { Principal, Role } from '../core/principal.ts'

/**
 * What a request proved. A bound credential says who calls; under a shared key, or in insecure development, the
 * request itself names its principal.
 */
export type Credential =
  | {
      readonly kind: 'shared'
      readonly tenant: string
      /** Admins have keys of their own: whoever holds this one is neither an admin nor a person. */
      readonly no_admin?: true
    }
  | { readonly kind: 'bound'; readonly tenant: string; readonly principal: Principal; readonly role: Role }

export interface AuthSettings {
  /** The shared key; null if there is none. */
  readonly api_key: string | null
  /** Whether requests without a key are let in. Only ever true on loopback in development. */
  readonly allow_insecure_dev: boolean
  /** Keys of people, by their name. With any, the shared key makes nobody an admin. */
  readonly admin_keys?: Readonly<Record<string, string>> | null
}

export interface AuthHeaders {
  readonly authorization?: string | undefined
  readonly 'x-api-key'?: string | string[] | undefined
}

/** Whoever holds the shared key. */
export const DEFAULT_TENANT = 'default'
const BEARER = /^Bearer +(\S+) *$/i

/** Tells who a request comes from, or refuses it. */
export class Authenticator {
  readonly #insecure: boolean
  readonly #key: Buffer | null
  readonly #admins: readonly { readonly key: Buffer; readonly credential: Credential }[]
  readonly #shared: Credential

  constructor(settings: AuthSettings) {
    this.#insecure = settings.allow_insecure_dev
    this.#key = settings.api_key === null ? null : digest(settings.api_key)
    this.#admins = Object.entries(settings.admin_keys ?? {}).map(([id, key]) => ({
      key: digest(key),
      credential: { kind: 'bound', tenant: DEFAULT_TENANT, principal: { kind: 'human', id }, role: 'admin' },
    }))
    const shared = { kind: 'shared', tenant: DEFAULT_TENANT } as const
    this.#shared = this.#admins.length === 0 ? shared : { ...shared, no_admin: true }
  }

  /** Whether a request without a key is let in. */
  get allowsAnonymous(): boolean {
    return this.#insecure
  }

  authenticate(headers: AuthHeaders): Credential {
    return this.ofHeaders(headers) ?? this.ofToken(undefined)
  }

  /** What the headers prove; undefined if there is no key in them. */
  ofHeaders(headers: AuthHeaders): Credential | undefined {
    const given = keyOf(headers)
    return given === undefined ? undefined : this.#credentialOf(given)
  }

  /** What a request without a key in its headers proves. The token is for clients that cannot set headers. */
  ofToken(token: string | undefined): Credential {
    if (token !== undefined) return this.#credentialOf(token)
    if (this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }

  #credentialOf(given: string): Credential {
    // Digests are compared, so that every wrong key takes the same time.
    const sent = digest(given)
    const admin = this.#admins.find(({ key }) => timingSafeEqual(sent, key))
    if (admin !== undefined) return admin.credential
    if (this.#key !== null ? timingSafeEqual(sent, this.#key) : this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }
}

function keyOf(headers: AuthHeaders): string | undefined {
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1]
  const key = headers['x-api-key']
  return bearer ?? (typeof key === 'string' && key !== '' ? key : undefined)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
