import { z } from 'zod'
import { SCOPES, type Scope } from '../../core/scopes.ts'
import type { Random } from '../../util/random.ts'

/** What the tokens of a client can speak for. A token of the kind human has the rights of the person. */
export const CLIENT_KINDS = ['agent', 'worker', 'service', 'human'] as const
export type ClientKind = (typeof CLIENT_KINDS)[number]

/** A registered client. All clients are public: they prove themselves with PKCE and have no secret. */
export const storedClient = z.object({
  client_id: z.string(),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  scopes: z.array(z.enum(SCOPES)),
  principal_kind: z.enum(CLIENT_KINDS),
  created_at: z.number(),
  created_by: z.string(),
})

export type StoredClient = z.output<typeof storedClient>

const MAX_TENANT = 2 ** 48
const CLIENT_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * A new client id: a UUID of version 8 whose first 48 bits are the number of the tenant, so that a client is found within
 * its tenant before the person is known.
 */
export function newClientId(tenant: number, random: Pick<Random, 'hex'>): string {
  if (!Number.isInteger(tenant) || tenant < 0 || tenant >= MAX_TENANT)
    throw new RangeError(`${tenant} is not the number of a tenant`)
  const bytes = Buffer.from(random.hex(16), 'hex')
  bytes.writeUIntBE(tenant, 0, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The number of the tenant that registered a client; undefined if the id is not that of a registered client. */
export function tenantOfClient(clientId: string): number | undefined {
  const [, high, low] = CLIENT_ID.exec(clientId) ?? []
  return high === undefined || low === undefined ? undefined : Number.parseInt(high + low, 16)
}

/** The scopes of a client of this kind that asks for none. */
export function defaultScopes(kind: ClientKind): readonly Scope[] {
  return kind === 'worker'
    ? ['tasks:lease', 'receipts:read']
    : ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack']
}

const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/
/** RFC 8252 asks for a scheme that is a domain name in reverse order. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/?/

/** Whether an application registers the scheme of this URI on a person's machine. */
export function isPrivateScheme(uri: string): boolean {
  return PRIVATE_SCHEME.test(uri)
}

/** Why a redirect URI cannot be registered; undefined if it can. */
export function redirectUriProblem(uri: string): string | undefined {
  if (!URL.canParse(uri) || /[\s\\]/.test(uri)) return 'is not an absolute URI'
  if (uri.includes('#')) return 'has a fragment, which is not allowed'
  const { username, password, protocol } = new URL(uri)
  if (username + password !== '') return 'contains a user name or password'
  if (protocol === 'https:' || LOOPBACK.test(uri) || isPrivateScheme(uri)) return undefined
  return 'must begin with https://, with http:// and a loopback address, or with a private scheme such as com.example.app:/'
}
