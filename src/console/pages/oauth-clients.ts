import type { z } from 'zod'
import { SCOPE_DESCRIPTIONS, SCOPES } from '../../core/scopes.ts'
import { CLIENT_KINDS } from '../../features/oauth/client-record.ts'
import {
  createOauthClient,
  listOauthClients,
  removeOauthClient,
  revokeTokens,
} from '../../features/oauth/operations.ts'
import { type Html, html } from '../../util/html.ts'
import { command, form, identifier, line, table, tableRow, time } from '../components.ts'
import { itemPath, textIn } from '../fields.ts'
import { RECORDS_PER_PAGE, recordAction, recordList } from '../record-list.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'

type Client = z.output<typeof createOauthClient.output>

const LIST = '/console/clients'

export const oauthClientRoutes = [
  page('/clients', showClients),
  action(
    '/clients',
    async ({ call, form: sent }) => {
      const scopes = sent.getAll('scope')
      await call(createOauthClient, {
        client_name: textIn(sent, 'name'),
        redirect_uris: (sent.get('redirects') ?? '').split(/\s+/).filter(Boolean),
        principal_kind: textIn(sent, 'kind'),
        scopes: scopes.length > 0 ? scopes : undefined,
      })
      return redirect(LIST, { notice: 'saved' })
    },
    showClients,
  ),
  action('/clients/{client_id}/remove', async ({ call, params: { client_id } }) => {
    await call(removeOauthClient, { client_id })
    return redirect(LIST, { notice: 'removed' })
  }),
  action(
    '/clients/tokens/revoke',
    async ({ call, form: sent }) => {
      const id = textIn(sent, 'id')
      await call(revokeTokens, { principal: id && { kind: textIn(sent, 'kind'), id } })
      return redirect(LIST, { notice: 'tokens_revoked' })
    },
    showClients,
  ),
]

async function showClients(visit: Visit): Promise<Reply> {
  const { call, query, token, may } = visit
  const cursor = textIn(query, 'cursor')
  const { clients, next_cursor } = await call(listOauthClients, { limit: RECORDS_PER_PAGE, cursor })
  return recordList(visit, {
    title: 'OAuth clients',
    section: 'clients',
    path: LIST,
    about:
      'Programs that a person can allow to get access tokens from this server, if ASYNCGATE_OAUTH_SERVER is set.',
    forms:
      may('manage') &&
      html`${createForm(visit)}
${revokeForm(token)}`,
    records: clients.length === 0 ? undefined : clientTable(clients, visit),
    none: [
      'There are no clients.',
      html`Clients that use the URL of a metadata document need no registration. Register another one here, or on the command line:${command('npx asyncgate oauth create-client --name my-app --redirect http://127.0.0.1:3000/callback')}`,
    ],
    next_cursor,
  })
}

function kinds(id: string, chosen: string): Html {
  return html`<select id="${id}" name="kind">${CLIENT_KINDS.map(
    (kind) => html`<option${kind === chosen && html` selected`}>${kind}</option>`,
  )}</select>`
}

function createForm({ form: sent, token, fault }: Visit): Html {
  const value = (name: string) => sent.get(name) ?? ''
  return html`<details class="card"${fault !== undefined && html` open`}><summary>New client</summary>${form(
    token,
    LIST,
    html`<label for="name">Name</label><input id="name" name="name" required maxlength="100" value="${value('name')}">
<label for="redirects">Redirect URIs, one per line</label><textarea id="redirects" name="redirects" required rows="3">${value('redirects')}</textarea>
<label for="kind">Its tokens speak for</label>${kinds('kind', value('kind') || 'agent')}
<fieldset><legend>Scopes that it can ask for</legend>${SCOPES.map(
      (scope) =>
        html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"${sent.getAll('scope').includes(scope) && html` checked`}> ${scope} <span class="soft">${SCOPE_DESCRIPTIONS[scope]}</span></label>`,
    )}<p class="hint">None: the usual scopes of its kind.</p></fieldset>
<button class="button primary">Register client</button>`,
  )}</details>`
}

function revokeForm(token: string): Html {
  return html`<details class="card"><summary>Revoke tokens</summary>${form(
    token,
    `${LIST}/tokens/revoke`,
    html`<label for="revoke-kind">Kind of principal</label>${kinds('revoke-kind', 'agent')}
<label for="revoke-id">Name of the principal</label><input id="revoke-id" name="id" maxlength="255">
<p class="hint">Empty: all tokens of the tenant. Every server refuses them within a second.</p>
<button class="button danger">Revoke tokens</button>`,
  )}</details>`
}

const COLUMNS = [
  { label: 'Client' },
  { label: 'Speaks for', kind: 'tight' },
  { label: 'Scopes', isExtra: true },
  { label: 'Redirects to', kind: 'wide', isExtra: true },
  { label: 'Registered', kind: 'tight' },
  { label: 'Change', kind: 'tight' },
] as const

function clientTable(clients: readonly Client[], { token, now, may }: Visit): Html {
  const row = (client: Client) => {
    const { client_id, client_name, principal_kind, scopes, redirect_uris, created_at, created_by } = client
    return tableRow(client_id, COLUMNS, [
      html`${line(client_name, 100)}<span class="row-sub">${identifier(client_id)}</span>`,
      principal_kind,
      scopes.map((scope) => html`<span class="chip">${scope}</span> `),
      redirect_uris.map((uri) => html`<div>${line(uri, 200)}</div>`),
      html`${time(created_at, now)}<span class="row-sub">by ${line(created_by, 80)}</span>`,
      may('manage') &&
        recordAction(
          'Remove',
          line(client_name, 60),
          form(
            token,
            `${itemPath('clients', client_id)}/remove`,
            html`<p>All of its tokens end within a second.</p><button class="button danger solid">Remove client</button>`,
          ),
          'danger',
        ),
    ])
  }
  return table('OAuth clients', COLUMNS, clients.map(row))
}
