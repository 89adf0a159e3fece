import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'
import { seal, unseal } from '../sealed-text.ts'

const NAME = 'signing'

const storedKeys = z.object({
  keys: z.array(
    z.object({
      kid: z.string(),
      created_at: z.number(),
      /** When the last token that it signed expires; null for the key that signs. */
      valid_until: z.number().nullable(),
      /** The encrypted private key. */
      sealed: z.string(),
    }),
  ),
})

type StoredKeys = z.output<typeof storedKeys>
type StoredKey = StoredKeys['keys'][number]

const rsaKey = z.object({
  kty: z.literal('RSA'),
  ...{ n: z.string(), e: z.string(), d: z.string() },
  ...{ p: z.string(), q: z.string(), dp: z.string(), dq: z.string(), qi: z.string() },
})

/** A private key, which contains the public one. */
type RsaKey = z.output<typeof rsaKey>

export interface SigningKey {
  readonly kid: string
  readonly jwk: RsaKey
}

export interface KeySet {
  /** The first one signs. The others verify tokens that were issued before a rotation. */
  readonly keys: readonly SigningKey[]
}

/** The keys that sign access tokens. All servers of a database share them; they are encrypted with its secret. */
export class SigningKeys {
  readonly #engine: Engine
  readonly #records: Collection<StoredKeys>
  readonly #opened = new Map<string, SigningKey>()
  #known: KeySet | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#records = new Collection(engine, 'oauth_keys', (text) => storedKeys.parse(JSON.parse(text)))
  }

  /** The current keys, the same object until they change. The first server creates them. */
  async load(): Promise<KeySet> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    for (;;) {
      const found = await this.#records.get(tenant, NAME)
      if (found !== undefined) return this.#open(found.value)
      await this.#records.put(tenant, NAME, { keys: [await this.#create()] }, 0)
    }
  }

  /**
   * Makes a new key sign from now on. The old one verifies tokens for `keepMs`. Resolves with the id of the new key.
   */
  async rotate(keepMs: number): Promise<string> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    const created = await this.#create()
    const now = Date.now()
    for (;;) {
      const found = await this.#records.get(tenant, NAME)
      const before = (found?.value.keys ?? [])
        .map((key) => ({
          ...key,
          valid_until: Math.min(key.valid_until ?? Number.MAX_SAFE_INTEGER, now + keepMs),
        }))
        .filter(({ valid_until }) => valid_until > now)
      const stored = await this.#records.put(
        tenant,
        NAME,
        { keys: [created, ...before] },
        found?.version ?? 0,
      )
      if (stored !== undefined) return created.kid
    }
  }

  async #open(stored: StoredKeys): Promise<KeySet> {
    const secret = await this.#secret()
    const now = Date.now()
    const keys = stored.keys
      .filter(({ valid_until }) => valid_until === null || valid_until > now)
      .map(({ kid, sealed }) => {
        const key = this.#opened.get(kid) ?? {
          kid,
          jwk: rsaKey.parse(JSON.parse(unseal(secret, kid, sealed))),
        }
        this.#opened.set(kid, key)
        return key
      })
    const before = this.#known?.keys ?? []
    const isSame = keys.length === before.length && keys.every(({ kid }, i) => before[i]?.kid === kid)
    if (this.#known === undefined || !isSame) this.#known = { keys }
    return this.#known
  }

  async #create(): Promise<StoredKey> {
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
    const kid = randomBytes(12).toString('base64url')
    const jwk = rsaKey.parse(privateKey.export({ format: 'jwk' }))
    const sealed = seal(await this.#secret(), kid, JSON.stringify(jwk))
    return { kid, created_at: Date.now(), valid_until: null, sealed }
  }

  #secret(): Promise<Buffer> {
    return this.#engine.secretFor('signing keys of access tokens')
  }
}
