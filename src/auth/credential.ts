import { hash, timingSafeEqual } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import type { Principal, Role } from '../core/principal.ts'
import { isProof, PROOF_HEADER } from './local-proof.ts'

/**
 * The proof of a request. A bound credential determines the principal; under a shared key, or in insecure development,
 * the request itself names its principal.
 */
export type Credential = SharedCredential | BoundCredential

export interface SharedCredential {
  readonly kind: 'shared'
  readonly tenant: string
  /** Admins have their own keys, so this one grants neither the role admin nor the identity of a person. */
  readonly no_admin?: true
  /** The person who is proved to have made the request. Used only where a person is required. */
  readonly person?: BoundCredential
}

export interface BoundCredential {
  readonly kind: 'bound'
  readonly tenant: string
  readonly principal: Principal
  readonly role: Role
}

export interface AuthSettings {
  /** The shared key; null if there is none. */
  readonly api_key: string | null
  /** Whether requests without a key are accepted. True only on loopback in development. */
  readonly allow_insecure_dev: boolean
  /** Keys of people, by name. If there are any, the shared key does not grant the role admin. */
  readonly admin_keys?: Readonly<Record<string, string>> | null
  /** Keys of people who run this server, by name. They do not restrict the shared key. */
  readonly local_keys?: Readonly<Record<string, string>> | null
}

export interface AuthHeaders {
  readonly authorization?: string | undefined
  readonly 'x-api-key'?: string | string[] | undefined
  readonly [PROOF_HEADER]?: string | string[] | undefined
}

/** The server's end of the connection of a request. */
export interface Socket {
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
}

interface Person {
  readonly key: string
  readonly digest: Buffer
  readonly credential: BoundCredential
}

export const DEFAULT_TENANT = 'default'
const BEARER = /^Bearer +(\S+) *$/i

/** Authenticates requests. */
export class Authenticator {
  readonly #insecure: boolean
  readonly #key: Buffer | null
  readonly #people: readonly Person[]
  readonly #local: readonly Person[]
  readonly #shared: SharedCredential
  readonly #startedAt = Date.now()

  constructor(settings: AuthSettings) {
    this.#insecure = settings.allow_insecure_dev
    this.#key = settings.api_key === null ? null : digest(settings.api_key)
    const admins = peopleOf(settings.admin_keys)
    this.#local = peopleOf(settings.local_keys)
    this.#people = [...admins, ...this.#local]
    const shared = { kind: 'shared', tenant: DEFAULT_TENANT } as const
    this.#shared = admins.length === 0 ? shared : { ...shared, no_admin: true }
  }

  /** Whether requests without a key are accepted. */
  get allowsAnonymous(): boolean {
    return this.#insecure
  }

  /** Whether a person without a key can sign in to the console with a name. */
  get trustsNames(): boolean {
    return this.#insecure && this.#shared.no_admin !== true
  }

  /** With a socket, the headers may also prove that a person of this machine calls. */
  authenticate(headers: AuthHeaders, socket?: Socket): Credential {
    const person = socket && this.#personOf(headers[PROOF_HEADER], socket)
    if (person === undefined) return this.ofHeaders(headers) ?? this.ofToken(undefined)
    if (keyOf(headers) === undefined && !this.#insecure) return person
    const credential = this.ofHeaders(headers) ?? this.ofToken(undefined)
    return credential.kind === 'bound' ? credential : { ...credential, person }
  }

  #personOf(proof: string | string[] | undefined, socket: Socket): BoundCredential | undefined {
    const { localAddress: address, localPort: port } = socket
    if (typeof proof !== 'string' || address === undefined || port === undefined) return undefined
    const times = { now: Date.now(), startedAt: this.#startedAt }
    return this.#local.find(({ key }) => isProof(proof, key, { address, port }, times))?.credential
  }

  /** The credential of the key in the headers; undefined if they contain no key. */
  ofHeaders(headers: AuthHeaders): Credential | undefined {
    const given = keyOf(headers)
    return given === undefined ? undefined : this.#credentialOf(given)
  }

  /** The credential of a request without a key in its headers. The token is for clients that cannot set headers. */
  ofToken(token: string | undefined): Credential {
    if (token !== undefined) return this.#credentialOf(token)
    if (this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }

  #credentialOf(given: string): Credential {
    // Comparing digests takes the same time for every wrong key.
    const sent = digest(given)
    const person = this.#people.find((candidate) => timingSafeEqual(sent, candidate.digest))
    if (person !== undefined) return person.credential
    if (this.#key !== null ? timingSafeEqual(sent, this.#key) : this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }
}

function peopleOf(keys: Readonly<Record<string, string>> | null | undefined): readonly Person[] {
  return Object.entries(keys ?? {}).map(([id, key]) => ({
    key,
    digest: digest(key),
    credential: { kind: 'bound', tenant: DEFAULT_TENANT, principal: { kind: 'human', id }, role: 'admin' },
  }))
}

function keyOf(headers: AuthHeaders): string | undefined {
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1]
  const key = headers['x-api-key']
  return bearer ?? (typeof key === 'string' && key !== '' ? key : undefined)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
