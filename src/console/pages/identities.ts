import type { IdentityView } from '../../features/identities/operations.ts'
import { listIdentities, putIdentity, removeIdentity } from '../../features/identities/operations.ts'
import { IDENTITY_ROLES } from '../../features/identities/record.ts'
import { type Html, html } from '../../util/html.ts'
import { command, form, line, principal, table, tableRow, time } from '../components.ts'
import { itemPath, textIn } from '../fields.ts'
import { RECORDS_PER_PAGE, recordAction, recordList } from '../record-list.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'

const LIST = '/console/identities'

export const identityRoutes = [
  page('/identities', showIdentities),
  action(
    '/identities',
    async ({ call, form: sent }) => {
      await call(putIdentity, {
        email: textIn(sent, 'email'),
        issuer: textIn(sent, 'issuer'),
        subject: textIn(sent, 'subject'),
        principal: { kind: 'human', id: textIn(sent, 'person') },
        role: textIn(sent, 'role'),
      })
      return redirect(LIST, { notice: 'saved' })
    },
    showIdentities,
  ),
  action('/identities/{identity_id}/remove', async ({ call, params: { identity_id } }) => {
    await call(removeIdentity, { identity_id })
    return redirect(LIST, { notice: 'removed' })
  }),
]

async function showIdentities(visit: Visit): Promise<Reply> {
  const { call, query, may } = visit
  const cursor = textIn(query, 'cursor')
  const { identities, next_cursor } = await call(listIdentities, { limit: RECORDS_PER_PAGE, cursor })
  return recordList(visit, {
    title: 'Identities',
    section: 'identities',
    path: LIST,
    about: 'People who can sign in here through the identity provider, if ASYNCGATE_OIDC_ISSUER is set.',
    forms: may('manage') && putForm(visit),
    records: identities.length === 0 ? undefined : identityTable(identities, visit),
    none: [
      'There are no identities.',
      html`People sign in with their own keys. Map an email address of the identity provider to a person:${command('npx asyncgate identities put --email ann@example.com --principal human:ann --role operator')}`,
    ],
    next_cursor,
  })
}

function putForm({ form: sent, token, fault }: Visit): Html {
  const value = (name: string) => sent.get(name) ?? ''
  return html`<details class="card"${fault !== undefined && html` open`}><summary>Let a person sign in</summary>${form(
    token,
    LIST,
    html`<label for="email">Email address</label><input id="email" name="email" maxlength="254" value="${value('email')}" aria-describedby="email-hint">
<p class="hint" id="email-hint">The identity provider must have verified it. Otherwise use the subject, which the person sees when they try to sign in.</p>
<label for="issuer">Issuer</label><input id="issuer" name="issuer" maxlength="1000" value="${value('issuer')}">
<label for="subject">Subject at the issuer</label><input id="subject" name="subject" maxlength="255" value="${value('subject')}">
<label for="person">Name of the person here</label><input id="person" name="person" required maxlength="255" value="${value('person')}">
<label for="role">Role</label><select id="role" name="role">${IDENTITY_ROLES.map(
      (role) => html`<option${role === (value('role') || 'operator') && html` selected`}>${role}</option>`,
    )}</select>
<button class="button primary">Save</button>`,
  )}</details>`
}

const COLUMNS = [
  { label: 'Identity' },
  { label: 'Signs in as' },
  { label: 'Role', kind: 'tight' },
  { label: 'Issuer', kind: 'wide', isExtra: true },
  { label: 'Changed', kind: 'tight', isExtra: true },
  { label: 'Change', kind: 'tight' },
] as const

function identityTable(identities: readonly IdentityView[], { token, now, may }: Visit): Html {
  const row = (identity: IdentityView) => {
    const { identity_id, email, issuer, subject, role, scopes, updated_at, updated_by } = identity
    const name = line(email ?? subject ?? '', 100)
    return tableRow(identity_id, COLUMNS, [
      name,
      principal(identity.principal),
      html`${role}${scopes !== null && html`<span class="row-sub">${scopes.join(', ')}</span>`}`,
      issuer !== null && line(issuer, 200),
      html`${time(updated_at, now)}<span class="row-sub">by ${line(updated_by, 80)}</span>`,
      may('manage') &&
        recordAction(
          'Remove',
          name,
          form(
            token,
            `${itemPath('identities', identity_id)}/remove`,
            html`<p>The person can no longer sign in in this way. Their sign-ins, and the access tokens that they have granted, end within a second.</p><button class="button danger solid">Remove</button>`,
          ),
          'danger',
        ),
    ])
  }
  return table('Identities', COLUMNS, identities.map(row))
}
