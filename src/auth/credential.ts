import { hash, timingSafeEqual } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import { type Caller, DEFAULT_TENANT } from '../core/principal.ts'
import { isIssuedKey } from '../features/keys/format.ts'
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

export interface BoundCredential extends Caller {
  readonly kind: 'bound'
  /** The access token that the credential comes from. */
  readonly token?: { readonly expires_at: number; readonly grant_id?: string }
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

/** Asks whether a client may cause an expensive verification. Throws RATE_LIMIT_EXCEEDED if not. */
export type Admit = () => void

/** Authenticates the keys that are stored in the database. */
export interface KeyVerifier {
  /**
   * The credential of a key. Throws or rejects with UNAUTHENTICATED if the key is not valid. A key that was sent before on
   * the same connection is recognized faster. `admit` is called before a secret is verified that is not known yet.
   */
  verify(text: string, connection?: object, admit?: Admit): BoundCredential | Promise<BoundCredential>
  /** Calls back when the key of a credential is no longer valid. Returns an unsubscribe function. */
  watch(credential: BoundCredential, end: () => void): () => void
  /** The credential of a key that was verified before, by any process; undefined if it is no longer valid. */
  current(keyId: string): Promise<BoundCredential | undefined>
}

/** Authenticates access tokens. */
export interface TokenVerifier {
  /** Whether a text has the form of an access token. */
  isToken(text: string): boolean
  /** The credential of a token. Throws or rejects with UNAUTHENTICATED if the token is not valid. */
  verify(text: string): BoundCredential | Promise<BoundCredential>
  /** Calls back when the token of a credential is no longer valid. Returns an unsubscribe function. */
  watch(credential: BoundCredential, end: () => void): () => void
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

const BEARER = /^Bearer +(\S+) *$/i

/** Authenticates requests. */
export class Authenticator {
  readonly #insecure: boolean
  readonly #key: Buffer | null
  readonly #people: readonly Person[]
  readonly #local: readonly Person[]
  readonly #shared: SharedCredential
  readonly #startedAt = Date.now()
  /** Undefined where no keys are issued. */
  readonly issued: KeyVerifier | undefined
  readonly #tokens: TokenVerifier | undefined
  /** Whether a configured key has the form of an issued one. */
  readonly #resemblesIssued: boolean

  constructor(settings: AuthSettings, issued?: KeyVerifier, tokens?: TokenVerifier) {
    this.issued = issued
    this.#tokens = tokens
    this.#insecure = settings.allow_insecure_dev
    this.#key = settings.api_key === null ? null : digest(settings.api_key)
    const admins = peopleOf(settings.admin_keys)
    this.#local = peopleOf(settings.local_keys)
    this.#people = [...admins, ...this.#local]
    this.#resemblesIssued = [settings.api_key ?? '', ...this.#people.map(({ key }) => key)].some(isIssuedKey)
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
  authenticate(headers: AuthHeaders, socket?: Socket, admit?: Admit): Credential | Promise<Credential> {
    const person = socket && this.#personOf(headers[PROOF_HEADER], socket)
    if (person !== undefined && keyOf(headers) === undefined && !this.#insecure) return person
    const credential = this.ofHeaders(headers, socket, admit) ?? this.ofToken(undefined)
    if (person === undefined) return credential
    if (credential instanceof Promise) return credential.then((known) => withPerson(known, person))
    return withPerson(credential, person)
  }

  #personOf(proof: string | string[] | undefined, socket: Socket): BoundCredential | undefined {
    if (typeof proof !== 'string') return undefined
    const { localAddress: address, localPort: port } = socket
    if (address === undefined || port === undefined) return undefined
    const times = { now: Date.now(), startedAt: this.#startedAt }
    return this.#local.find(({ key }) => isProof(proof, key, { address, port }, times))?.credential
  }

  /** The credential of the key in the headers; undefined if they contain no key. */
  ofHeaders(
    headers: AuthHeaders,
    socket?: Socket,
    admit?: Admit,
  ): Credential | Promise<Credential> | undefined {
    const given = keyOf(headers)
    return given === undefined ? undefined : this.#credentialOf(given, socket, admit)
  }

  /** The credential of a request without a key in its headers. The token is for clients that cannot set headers. */
  ofToken(token: string | undefined, admit?: Admit): Credential | Promise<Credential> {
    if (token !== undefined) return this.#credentialOf(token, undefined, admit)
    if (this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }

  /** Calls back when the key or token of a credential is no longer valid. Returns an unsubscribe function. */
  watch(credential: Credential, end: () => void): (() => void) | undefined {
    if (credential.kind !== 'bound') return undefined
    if (credential.token !== undefined) return this.#tokens?.watch(credential, end)
    return credential.key_id === undefined ? undefined : this.issued?.watch(credential, end)
  }

  /** A promise only for an issued key or an access token that this process has not checked recently. */
  #credentialOf(given: string, connection?: Socket, admit?: Admit): Credential | Promise<Credential> {
    const issued = isIssuedKey(given) ? this.issued : undefined
    if (issued !== undefined && !this.#resemblesIssued) return issued.verify(given, connection, admit)
    const configured = this.#configured(given)
    if (configured !== undefined) return configured
    if (issued !== undefined) return issued.verify(given, connection, admit)
    if (this.#tokens?.isToken(given)) return this.#tokens.verify(given)
    if (this.#key === null && this.#insecure) return this.#shared
    throw new Fault('UNAUTHENTICATED')
  }

  #configured(given: string): Credential | undefined {
    // Comparing digests takes the same time for every wrong key.
    const sent = digest(given)
    const person = this.#people.find((candidate) => timingSafeEqual(sent, candidate.digest))
    if (person !== undefined) return person.credential
    return this.#key !== null && timingSafeEqual(sent, this.#key) ? this.#shared : undefined
  }
}

function withPerson(credential: Credential, person: BoundCredential): Credential {
  return credential.kind === 'bound' ? credential : { ...credential, person }
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
