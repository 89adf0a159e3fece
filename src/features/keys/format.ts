import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../util/random.ts'

/** `aga` for agents, people and services; `agw` for workers. */
export const KEY_PREFIXES = ['aga', 'agw'] as const
export type KeyPrefix = (typeof KEY_PREFIXES)[number]

/**
 * An issued key: a prefix, and base62 text of the id of the key, its secret, and a checksum. The id contains the number of
 * the tenant, so that the record of the key is found within its tenant. The checksum needs a secret of the server, so a
 * key that was not issued here is refused without a look at the database.
 */
export interface IssuedKey {
  readonly prefix: KeyPrefix
  readonly tenant: number
  /** The part that identifies the key and is not secret. */
  readonly key_id: string
  readonly secret: string
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TENANT_LENGTH = 6
const ID_LENGTH = TENANT_LENGTH + 8
const SECRET_LENGTH = 32
const KEY_ID = new RegExp(`^[0-9A-Za-z]{${ID_LENGTH}}$`)
const CHECKSUM_LENGTH = 6
const KEY = new RegExp(
  `^(${KEY_PREFIXES.join('|')})_([0-9A-Za-z]{${ID_LENGTH}})([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
)

const STARTS = KEY_PREFIXES.map((prefix) => `${prefix}_`)

/** A new key of a tenant, and its parts. `pepper` is the secret of the checksum. */
export function issueKey(
  prefix: KeyPrefix,
  tenant: number,
  pepper: Buffer,
  random: Pick<Random, 'hex'>,
): IssuedKey & { readonly key: string } {
  const key_id = encode(BigInt(tenant), TENANT_LENGTH) + randomText(ID_LENGTH - TENANT_LENGTH, random)
  const secret = randomText(SECRET_LENGTH, random)
  const checksum = checksumOf(prefix, key_id, secret, pepper)
  return { prefix, tenant, key_id, secret, key: `${prefix}_${key_id}${secret}${checksum}` }
}

/** Whether a text has the prefix of issued keys. */
export function isIssuedKey(text: string): boolean {
  return STARTS.some((start) => text.startsWith(start))
}

/** Undefined if the text is not a key that was issued with this pepper. */
export function parseKey(text: string, pepper: Buffer): IssuedKey | undefined {
  const [, prefix, key_id = '', secret = '', checksum = ''] = KEY.exec(text) ?? []
  if (!isPrefix(prefix)) return undefined
  const expected = Buffer.from(checksumOf(prefix, key_id, secret, pepper))
  if (!timingSafeEqual(expected, Buffer.from(checksum))) return undefined
  return { prefix, tenant: decode(key_id.slice(0, TENANT_LENGTH)), key_id, secret }
}

/** The number of the tenant that a key belongs to; undefined if the text is not the id of a key. */
export function tenantOfKey(keyId: string): number | undefined {
  return KEY_ID.test(keyId) ? decode(keyId.slice(0, TENANT_LENGTH)) : undefined
}

function isPrefix(prefix: string | undefined): prefix is KeyPrefix {
  return KEY_PREFIXES.some((known) => known === prefix)
}

function checksumOf(prefix: KeyPrefix, keyId: string, secret: string, pepper: Buffer): string {
  const digest = createHmac('sha256', pepper).update(`${prefix}_${keyId}${secret}`).digest()
  return encode(digest.readBigUInt64BE() % 62n ** BigInt(CHECKSUM_LENGTH), CHECKSUM_LENGTH)
}

function encode(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; text.length < length; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text
  return text
}

function decode(text: string): number {
  return [...text].reduce((number, digit) => number * 62 + DIGITS.indexOf(digit), 0)
}

/** The largest multiple of 62 in a byte: larger bytes would make some digits more likely. */
const FAIR = 248

function randomText(length: number, random: Pick<Random, 'hex'>): string {
  let text = ''
  while (text.length < length) {
    for (const byte of Buffer.from(random.hex(length), 'hex')) {
      if (byte < FAIR && text.length < length) text += DIGITS.charAt(byte % 62)
    }
  }
  return text
}
