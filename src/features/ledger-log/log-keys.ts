import { z } from 'zod'
import type { LogKey } from '../../core/merkle/checkpoint.ts'
import { createLogKey, pemOf, readLogKeys } from '../../core/merkle/log-key.ts'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'
import { seal, unseal } from '../sealed-text.ts'

const NAME = 'signing'

const storedKeys = z.object({
  /** Newest first. Keys that no longer sign stay, because they verify earlier checkpoints. */
  keys: z.array(
    z.object({
      /** In base64. */
      public_key: z.string(),
      /** Until when the key signs besides newer ones; null for the newest. */
      signs_until: z.number().nullable(),
      /** The encrypted private key; null if it has been removed, or was never in the database. */
      sealed: z.string().nullable(),
    }),
  ),
})

type StoredKeys = z.output<typeof storedKeys>
type StoredKey = StoredKeys['keys'][number]

export interface LogKeySet {
  /** The keys that sign, newest first. */
  readonly signers: readonly LogKey[]
  /** The public keys of all checkpoints so far, newest first. */
  readonly published: readonly Buffer[]
}

/**
 * The keys that sign checkpoints, the same on all servers of a database. They are in the settings, or else in the
 * database, encrypted with its secret.
 */
export class LogKeys {
  readonly #engine: Engine
  readonly #given: readonly LogKey[]
  readonly #records: Collection<StoredKeys>

  /** `given` are the keys of the settings, newest first. */
  constructor(engine: Engine, given: readonly LogKey[] = []) {
    this.#engine = engine
    this.#given = given
    this.#records = new Collection(engine, 'ledger_keys', (text) => storedKeys.parse(JSON.parse(text)))
  }

  /** Whether the keys are in the settings. */
  get areGiven(): boolean {
    return this.#given.length > 0
  }

  async load(): Promise<LogKeySet> {
    return this.#open(await this.#stored())
  }

  /** The public keys of all checkpoints so far, newest first. */
  async published(): Promise<Buffer[]> {
    return publicKeysOf(await this.#stored())
  }

  /**
   * Makes a new key sign. The old one signs too for `overlapMs`, so that whoever has only that one can still verify.
   * Resolves with the public key of the new one.
   */
  async rotate(overlapMs: number): Promise<Buffer> {
    if (this.areGiven) throw new Error('the keys are in the settings')
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    const created = createLogKey()
    const now = Date.now()
    for (;;) {
      const found = await this.#records.get(tenant, NAME)
      const before = (found?.value.keys ?? []).map((key) => {
        const signs_until = Math.min(key.signs_until ?? Number.MAX_SAFE_INTEGER, now + overlapMs)
        return { ...key, signs_until, sealed: signs_until > now ? key.sealed : null }
      })
      const keys = [await this.#sealed(created), ...before]
      if ((await this.#records.put(tenant, NAME, { keys }, found?.version ?? 0)) !== undefined) {
        return created.publicKey
      }
    }
  }

  async #stored(): Promise<readonly StoredKey[]> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    for (;;) {
      const found = await this.#records.get(tenant, NAME)
      const known = found?.value.keys ?? []
      const missing = await this.#missing(known)
      if (missing.length === 0) return known
      await this.#records.put(tenant, NAME, { keys: [...missing, ...known] }, found?.version ?? 0)
    }
  }

  /** What has to be stored: the public keys of the settings, or else a first key. */
  async #missing(known: readonly StoredKey[]): Promise<StoredKey[]> {
    if (!this.areGiven)
      return known.some(({ sealed }) => sealed !== null) ? [] : [await this.#sealed(createLogKey())]
    return this.#given
      .map(({ publicKey }) => ({ public_key: publicKey.toString('base64'), signs_until: null, sealed: null }))
      .filter(({ public_key }) => known.every((key) => key.public_key !== public_key))
  }

  async #open(known: readonly StoredKey[]): Promise<LogKeySet> {
    const published = publicKeysOf(known)
    if (this.areGiven) return { signers: this.#given, published }
    const secret = await this.#secret()
    const now = Date.now()
    const signers = known.flatMap(({ public_key, signs_until, sealed }) =>
      sealed === null || (signs_until !== null && signs_until <= now)
        ? []
        : (readLogKeys(unseal(secret, public_key, sealed)) ?? []),
    )
    return { signers, published }
  }

  async #sealed(key: LogKey): Promise<StoredKey> {
    const public_key = key.publicKey.toString('base64')
    return { public_key, signs_until: null, sealed: seal(await this.#secret(), public_key, pemOf(key)) }
  }

  #secret(): Promise<Buffer> {
    return this.#engine.secretFor('signing keys of checkpoints')
  }
}

function publicKeysOf(keys: readonly StoredKey[]): Buffer[] {
  return keys.map(({ public_key }) => Buffer.from(public_key, 'base64'))
}
