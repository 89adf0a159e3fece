import { z } from 'zod'
import { scopeConflict } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import { SCOPES } from '../../core/scopes.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation, ENDS, WRITES } from '../define-operation.ts'
import { nextCursor, principalShape, text, time, withoutNulls } from '../input.ts'
import { idPage, pageById } from '../page.ts'
import { line, summaryView } from '../summary.ts'
import type { IdentityDraft } from './identities.ts'
import { IDENTITY_ROLES, isEmail, type Matched, type StoredIdentity } from './record.ts'

const identityShape = z.object({
  identity_id: z.string().describe('Id of the identity'),
  email: z
    .string()
    .nullable()
    .describe('Email address that the identity provider has verified; null if the subject is compared'),
  issuer: z.string().nullable().describe('Issuer of the subject; null if the email address is compared'),
  subject: z
    .string()
    .nullable()
    .describe('Id of the person at the issuer; null if the email address is compared'),
  tenant_id: z.string().describe('The tenant of the person'),
  principal: principalShape.describe('The principal as which the person signs in'),
  role: z.enum(IDENTITY_ROLES).describe('The role of the person'),
  scopes: z
    .array(z.enum(SCOPES))
    .nullable()
    .describe('What the person is limited to; null: everything that the role allows'),
  updated_at: time.describe('When the identity was created or changed'),
  updated_by: z.string().describe('The principal that created or changed it'),
})

export type IdentityView = z.output<typeof identityShape>

const identityListSummary = summaryView({
  shape: z.object({
    identities: z.array(
      z.object({
        identity_id: identityShape.shape.identity_id,
        person: z.string().describe('The email address, or the subject'),
        principal: z.string().describe('The principal, as kind:id'),
        role: identityShape.shape.role,
      }),
    ),
    next_cursor: nextCursor,
  }),
  defaults: { limit: 20 },
  of: (page: { identities: readonly IdentityView[]; next_cursor: string | null }) => ({
    identities: page.identities.map(({ identity_id, email, subject, principal, role }) => ({
      identity_id,
      person: line(email ?? subject ?? '', 80),
      principal: line(principalKey(principal), 80),
      role,
    })),
    next_cursor: page.next_cursor,
  }),
})

const newIdentityShape = z.strictObject({
  email: text(254)
    .optional()
    .describe('Email address of the person. It counts only if the identity provider has verified it'),
  issuer: text(1000).optional().describe('With subject: URL of the issuer, exactly as in the settings'),
  subject: text(255)
    .optional()
    .describe('Instead of an email address: id of the person at the issuer, which never changes'),
  principal: z
    .strictObject({
      kind: z.literal('human').describe('human'),
      id: text(255).describe('Name of the person'),
    })
    .describe('The principal as which the person signs in'),
  role: z.enum(IDENTITY_ROLES).describe('What the person may do'),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .optional()
    .describe('Limits the person further than the role; no further limit if absent'),
})

export const putIdentity = defineOperation({
  name: 'put_identity',
  title: 'Allow a person to sign in',
  description:
    'For admins: lets a person of the identity provider sign in to the console, as a principal of your tenant. Replaces the identity with the same email address or subject, and then ends its sign-ins.',
  input: newIdentityShape,
  normalize: withoutNulls,
  output: identityShape,
  access: 'manage',
  rest: { method: 'POST', path: '/v1/identities' },
  effect: WRITES,
  auditEvent: 'identity_mapped',
  auditSubject: 'identity_id',
  needsPerson: true,
  example: { email: 'ann@example.com', principal: { kind: 'human', id: 'ann' }, role: 'operator' },
  async run({ engine, identities, oauth }, caller, input) {
    const tenant = await engine.tenant(caller.tenant)
    const record = await identities.put(tenant, draftOf(input), principalKey(caller.principal))
    const { identity_id, revision } = record
    await oauth.grants.revokeMatching(
      tenant.tenant,
      ({ identity }) => identity?.id === identity_id && identity.revision !== revision,
    )
    return identityView(record)
  },
})

export const listIdentities = defineOperation({
  name: 'list_identities',
  title: 'List identities',
  description:
    'For admins: the people of the identity provider who can sign in to your tenant. Repeat with next_cursor until it is null.',
  input: z.strictObject(idPage),
  output: z.object({
    identities: z.array(identityShape).readonly().describe('The identities of this page, by id'),
    next_cursor: nextCursor,
  }),
  access: 'audit',
  toolsets: ['operator'],
  summary: identityListSummary,
  rest: { method: 'GET', path: '/v1/identities' },
  async run({ engine, identities }, caller, page) {
    const { tenant } = await engine.tenant(caller.tenant)
    const read = (after: string, limit: number) => identities.page(tenant, after, limit)
    const { items, next_cursor } = await pageById(read, ({ identity_id }) => identity_id, page)
    return { identities: items.map(identityView), next_cursor }
  },
})

export const removeIdentity = defineOperation({
  name: 'remove_identity',
  title: 'Remove an identity',
  description:
    'For admins: a person of the identity provider can no longer sign in. Their sign-ins to the console, and the access tokens that they have granted there, end within a second.',
  input: z.strictObject({ identity_id: text(64).describe('Id of the identity') }),
  output: z.object({
    identity_id: identityShape.shape.identity_id,
    revoked: z.int().describe('How many OAuth clients the person had allowed; their tokens have ended'),
  }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/identities/{identity_id}/remove' },
  effect: ENDS,
  auditEvent: 'identity_removed',
  needsPerson: true,
  async run({ engine, identities, oauth }, caller, { identity_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    await identities.remove(tenant, identity_id)
    return {
      identity_id,
      revoked: await oauth.grants.revokeMatching(tenant, ({ identity }) => identity?.id === identity_id),
    }
  },
})

type NewIdentity = z.output<typeof newIdentityShape>

/** Checks what the schema cannot. */
function draftOf(input: NewIdentity): IdentityDraft {
  const { principal, role, scopes = null } = input
  const conflict = scopes === null ? undefined : scopeConflict(role, scopes)
  if (conflict !== undefined) throw invalid('scopes', conflict)
  return { matched: matchedBy(input), person: principal.id, role, scopes }
}

function matchedBy({ email, issuer, subject }: NewIdentity): Matched {
  if (email !== undefined) {
    if (subject !== undefined || issuer !== undefined)
      throw invalid('email', 'excludes issuer and subject: a person is recognized by one of them')
    if (!isEmail(email)) throw invalid('email', 'is not an email address in ASCII; use issuer and subject')
    return { email: email.toLowerCase() }
  }
  if (subject === undefined) throw invalid('email', 'is missing: give it, or issuer and subject')
  if (issuer === undefined || !URL.canParse(issuer))
    throw invalid('issuer', 'is not a URL; it is required with subject')
  return { issuer, subject }
}

export function identityView({ matched, tenant, person, updated_at, ...rest }: StoredIdentity): IdentityView {
  const { tenant_number: _number, revision: _revision, ...shown } = rest
  return {
    ...shown,
    email: 'email' in matched ? matched.email : null,
    issuer: 'issuer' in matched ? matched.issuer : null,
    subject: 'subject' in matched ? matched.subject : null,
    tenant_id: tenant,
    principal: { kind: 'human', id: person },
    updated_at: isoTime(updated_at),
  }
}
