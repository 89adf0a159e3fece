import { hash } from 'node:crypto'
import { z } from 'zod'
import { ROLES } from '../../core/principal.ts'
import { SCOPES } from '../../core/scopes.ts'

/** The roles that a person who signs in can have. */
export const IDENTITY_ROLES = ROLES.filter((role) => role !== 'system' && role !== 'worker')

/** How a person is recognized: by an email address that the provider has verified, or by a subject of an issuer. */
const matched = z.union([
  z.object({ email: z.string() }),
  z.object({ issuer: z.string(), subject: z.string() }),
])

export type Matched = z.output<typeof matched>

/** A person of an identity provider who may sign in. */
export const storedIdentity = z.object({
  identity_id: z.string(),
  matched,
  /** The name and the number of the tenant. */
  tenant: z.string(),
  tenant_number: z.number(),
  /** The name of the person, whose principal is `human:NAME`. */
  person: z.string(),
  role: z.enum(IDENTITY_ROLES),
  scopes: z.array(z.enum(SCOPES)).nullable(),
  /** Changes with every change of the record. A sign-in is valid for one revision. */
  revision: z.string(),
  updated_at: z.number(),
  updated_by: z.string(),
})

export type StoredIdentity = z.output<typeof storedIdentity>

/** What an identity provider has proved about a person. */
export interface ProvedIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  /** Whether the provider has verified that the address belongs to the person. */
  readonly isEmailVerified: boolean
}

/**
 * Only ASCII, because the lower case of some other letters is an ASCII letter: two different addresses would be the
 * same. A person with another address is recognized by their subject.
 */
const EMAIL = /^[!-?A-~]+@[!-?A-~]+$/

export function isEmail(text: string): boolean {
  return EMAIL.test(text)
}

/** The same for all spellings of one address or issuer. */
export function identityId(of: Matched): string {
  const parts =
    'email' in of
      ? ['email', of.email.toLowerCase()]
      : ['subject', new URL(of.issuer).href.replace(/\/$/, ''), of.subject]
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)
}

/** The ids by which a person can be found, the most specific first. */
export function idsOf({ issuer, subject, email, isEmailVerified }: ProvedIdentity): readonly string[] {
  const bySubject = identityId({ issuer, subject })
  return email !== null && isEmailVerified && isEmail(email)
    ? [bySubject, identityId({ email })]
    : [bySubject]
}
