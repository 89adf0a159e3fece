import { randomBytes } from 'node:crypto'
import { hashSync } from '@node-rs/argon2'
import { IssuedKeys } from '../../src/auth/issued-keys.ts'
import { DEFAULT_TENANT, type Principal, principalKey, type Role } from '../../src/core/principal.ts'
import { type IssuedKey, issueKey, parseKey } from '../../src/features/keys/format.ts'
import { type StoredKey, storedKey } from '../../src/features/keys/record.ts'
import type { isSecretOf } from '../../src/features/keys/secret-hash.ts'
import { cryptoRandom } from '../../src/util/random.ts'

/** The registry of keys, as far as requests are authenticated with it. */
type KeyRegistry = ConstructorParameters<typeof IssuedKeys>[0]

/** A valid Argon2id hash that is quick to verify, because suites use many keys. */
const QUICK = { memoryCost: 64, timeCost: 1, parallelism: 1 }

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

interface CallerKey {
  readonly key: string
  readonly record: StoredKey
}

/** Keys of the callers that tests name, each issued when it is first needed. `pepper` is the secret of the checksum. */
export class CallerKeys {
  readonly #pepper: Buffer
  readonly #tenant: number
  readonly #keys = new Map<string, CallerKey>()
  readonly #records = new Map<string, StoredKey>()

  constructor(pepper: Buffer, tenant: number) {
    this.#pepper = pepper
    this.#tenant = tenant
  }

  keyOf({ kind, id }: Principal, role: Role): CallerKey {
    const name = `${role} ${principalKey({ kind, id })}`
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const prefix = role === 'worker' ? 'agw' : 'aga'
    const { key, key_id, secret } = issueKey(prefix, this.#tenant, this.#pepper, cryptoRandom())
    const record = storedKey.parse({
      key_id,
      prefix,
      tenant: DEFAULT_TENANT,
      name: null,
      principal: { kind, id },
      role,
      scopes: null,
      capabilities: null,
      hash: hashSync(secret, QUICK),
      created_at: Date.now(),
      created_by: 'human:root',
      expires_at: null,
      revoked_at: null,
      revoked_by: null,
      replaced_by: null,
    })
    const issued = { key, record }
    this.#keys.set(name, issued)
    this.#records.set(key_id, record)
    return issued
  }

  /** A key with the id of an issued key, a valid checksum and a wrong secret. */
  wrongSecretFor(keyId: string): string {
    const random = cryptoRandom()
    // The random part of an id is made of one byte per digit.
    const given = [Buffer.from([...keyId.slice(6)].map((digit) => DIGITS.indexOf(digit))).toString('hex')]
    return issueKey('aga', this.#tenant, this.#pepper, { hex: (n) => given.pop() ?? random.hex(n) }).key
  }

  get(keyId: string): StoredKey | undefined {
    return this.#records.get(keyId)
  }

  parse(text: string): IssuedKey | undefined {
    return parseKey(text, this.#pepper)
  }
}

/** The keys of all callers of this process. No database contains them, so they are valid on every server of a suite. */
export const processKeys = new CallerKeys(randomBytes(32), 1)

/** Verifies the keys of `processKeys`, and those of a registry. */
export function verifierOf(keys?: KeyRegistry, isSecret?: typeof isSecretOf): IssuedKeys {
  const registry: KeyRegistry = {
    parse: async (text) => processKeys.parse(text) ?? keys?.parse(text),
    get: async (tenant, keyId) => processKeys.get(keyId) ?? keys?.get(tenant, keyId),
    changes: async (tenant) => keys?.changes(tenant) ?? 0,
    async used(tenant, keyId, at) {
      if (processKeys.get(keyId) === undefined) await keys?.used(tenant, keyId, at)
    },
  }
  return new IssuedKeys(registry, () => {}, isSecret)
}
