import { hash, randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../core/errors.ts'
import { type IssuedKey, tenantOfKey } from '../features/keys/format.ts'
import type { Keys } from '../features/keys/keys.ts'
import { keyState, type StoredKey } from '../features/keys/record.ts'
import { isSecretOf } from '../features/keys/secret-hash.ts'
import { ChangeCounts, REFRESH_MS } from './change-counts.ts'
import type { Admit, BoundCredential, KeyVerifier } from './credential.ts'

const MAX_KNOWN = 10_000
const USE_INTERVAL_MS = 60_000

/** A key whose secret was verified. */
interface Known {
  readonly tenant: number
  readonly record: StoredKey
  readonly credential: BoundCredential
  /** The number of changes of keys when the record was read. */
  readonly changes: number
  /** When the last use was recorded. */
  recordedAt: number
}

type KeyRegistry = Pick<Keys, 'parse' | 'get' | 'changes' | 'used'>

interface Watch {
  readonly tenant: number
  record: StoredKey
  /** The number of changes of keys when the record was read. */
  changes: number
  end(): void
}

/**
 * Authenticates issued keys. The hash of a secret is computed once; after that a key is recognized by its digest. A key
 * that is revoked, by any process, is refused within a second.
 */
export class IssuedKeys implements KeyVerifier {
  readonly #keys: KeyRegistry
  readonly #counts: ChangeCounts
  readonly #report: (error: unknown) => void
  readonly #isSecretOf: typeof isSecretOf
  /** A dump of the memory does not show digests that could be compared with those of other processes. */
  readonly #salt = randomBytes(32).toString('base64')
  /** By digest, the least recently verified first. */
  readonly #known = new Map<string, Known>()
  readonly #verifying = new Map<string, Promise<BoundCredential>>()
  /** What the last request of a connection sent. Most clients send one key, and a digest takes microseconds. */
  readonly #ofConnection = new WeakMap<object, { readonly text: string; readonly known: Known }>()
  readonly #ofCredential = new WeakMap<BoundCredential, Known>()
  readonly #watches = new Set<Watch>()
  #timer: NodeJS.Timeout | undefined

  /** `isSecret` verifies a secret with a stored hash. It is expensive. */
  constructor(keys: KeyRegistry, report: (error: unknown) => void, isSecret = isSecretOf) {
    this.#keys = keys
    this.#isSecretOf = isSecret
    this.#counts = new ChangeCounts((tenant) => keys.changes(tenant), report)
    this.#report = report
  }

  verify(text: string, connection?: object, admit?: Admit): BoundCredential | Promise<BoundCredential> {
    const last = connection && this.#ofConnection.get(connection)
    if (last !== undefined && last.text === text && this.#isFresh(last.known)) return this.#use(last.known)
    const digest = hash('sha256', this.#salt + text, 'base64')
    const known = this.#known.get(digest)
    if (known !== undefined && this.#isFresh(known)) {
      if (connection !== undefined) this.#ofConnection.set(connection, { text, known })
      return this.#use(known)
    }
    const verifying = this.#verifying.get(digest)
    if (verifying !== undefined) return verifying
    if (known === undefined) admit?.()
    const started = this.#verify(text, digest).finally(() => this.#verifying.delete(digest))
    this.#verifying.set(digest, started)
    return started
  }

  watch(credential: BoundCredential, end: () => void): () => void {
    const known = this.#ofCredential.get(credential)
    if (known === undefined) return () => {}
    const { tenant, record, changes } = known
    const watch = { tenant, record, changes, end }
    this.#watches.add(watch)
    this.#timer ??= setInterval(() => void this.#checkWatches(), REFRESH_MS).unref()
    return () => {
      this.#watches.delete(watch)
    }
  }

  async current(keyId: string): Promise<BoundCredential | undefined> {
    const tenant = tenantOfKey(keyId)
    if (tenant === undefined) return undefined
    const changes = await this.#counts.current(tenant)
    const record = await this.#keys.get(tenant, keyId)
    if (record === undefined || keyState(record, Date.now()) !== 'active') return undefined
    const known = knownOf(tenant, record, changes, Date.now())
    this.#ofCredential.set(known.credential, known)
    return known.credential
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watches.clear()
  }

  #isFresh({ tenant, changes }: Known): boolean {
    return this.#counts.recent(tenant) === changes
  }

  #use(known: Known): BoundCredential {
    const now = Date.now()
    if (keyState(known.record, now) !== 'active') throw new Fault('UNAUTHENTICATED')
    if (now - known.recordedAt > USE_INTERVAL_MS) {
      known.recordedAt = now
      this.#keys.used(known.tenant, known.record.key_id, now).catch(this.#report)
    }
    return known.credential
  }

  async #verify(text: string, digest: string): Promise<BoundCredential> {
    const parsed = await this.#keys.parse(text)
    if (parsed === undefined) throw new Fault('UNAUTHENTICATED')
    const changes = await this.#counts.current(parsed.tenant)
    const before = this.#known.get(digest)
    if (before !== undefined && before.changes === changes) return this.#use(before)
    const known = await this.#read(parsed, changes, before)
    this.#known.delete(digest)
    if (known === undefined) throw new Fault('UNAUTHENTICATED')
    this.#known.set(digest, known)
    this.#ofCredential.set(known.credential, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest)
    return this.#use(known)
  }

  /** Reads the record of a key. Undefined if the key is not valid. */
  async #read(
    { tenant, key_id, secret }: IssuedKey,
    changes: number,
    before: Known | undefined,
  ): Promise<Known | undefined> {
    const record = await this.#keys.get(tenant, key_id)
    if (record === undefined || keyState(record, Date.now()) !== 'active') return undefined
    const isVerified = before?.record.hash === record.hash || (await this.#isSecretOf(record.hash, secret))
    if (!isVerified) return undefined
    const known = knownOf(tenant, record, changes, before?.recordedAt ?? 0)
    // What was accepted before stays the same object as long as its key has the same bindings.
    return before !== undefined && isDeepStrictEqual(before.credential, known.credential)
      ? { ...known, credential: before.credential }
      : known
  }

  async #checkWatches(): Promise<void> {
    if (this.#watches.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const byKey = new Map<string, Watch[]>()
    for (const watch of this.#watches) {
      const { key_id } = watch.record
      const others = byKey.get(key_id)
      if (others === undefined) byKey.set(key_id, [watch])
      else others.push(watch)
    }
    await Promise.all([...byKey.values()].map((watches) => this.#checkWatched(watches)))
  }

  async #checkWatched(watches: readonly Watch[]): Promise<void> {
    const [first] = watches
    if (first === undefined) return
    const { tenant, record } = first
    try {
      const changes = await this.#counts.current(tenant)
      const isCurrent = watches.every((watch) => watch.changes === changes)
      const current = isCurrent ? record : await this.#keys.get(tenant, record.key_id)
      const isActive = current !== undefined && keyState(current, Date.now()) === 'active'
      for (const watch of watches) {
        if (isActive) Object.assign(watch, { record: current, changes })
        else {
          this.#watches.delete(watch)
          watch.end()
        }
      }
    } catch (error) {
      this.#report(error)
    }
  }
}

function knownOf(tenant: number, record: StoredKey, changes: number, recordedAt: number): Known {
  return { tenant, record, credential: credentialOf(record), changes, recordedAt }
}

function credentialOf({ tenant, principal, role, scopes, capabilities, key_id }: StoredKey): BoundCredential {
  return {
    kind: 'bound',
    tenant,
    principal,
    role,
    key_id,
    ...(scopes !== null && { scopes }),
    ...(capabilities !== null && { capabilities }),
  }
}
