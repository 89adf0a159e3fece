import type { z } from 'zod'
import { SCOPE_DESCRIPTIONS, SCOPES } from '../../core/scopes.ts'
import { createKey, type getKey, listKeys, revokeKey, rotateKey } from '../../features/keys/operations.ts'
import { KEY_ROLES } from '../../features/keys/record.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  command,
  facts,
  form,
  heading,
  identifier,
  line,
  principal,
  table,
  tableRow,
  time,
} from '../components.ts'
import { itemPath, textIn } from '../fields.ts'
import { RECORDS_PER_PAGE, recordAction, recordList } from '../record-list.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'

type Key = z.output<typeof getKey.output>
type NewKey = z.output<typeof createKey.output>

const LIST = '/console/keys'

export const keyRoutes = [
  page('/keys', showKeys),
  action(
    '/keys',
    async ({ call, form: sent }) => {
      const scopes = sent.getAll('scope')
      const days = textIn(sent, 'days')
      const created = await call(createKey, {
        principal: { kind: textIn(sent, 'kind'), id: textIn(sent, 'id') },
        role: textIn(sent, 'role'),
        name: textIn(sent, 'name'),
        scopes: scopes.length > 0 ? scopes : undefined,
        expires_at: days && new Date(Date.now() + Number(days) * 86_400_000).toISOString(),
      })
      return shownOnce('New key', created)
    },
    showKeys,
  ),
  action('/keys/{key_id}/rotate', async ({ call, params: { key_id }, form: sent }) => {
    const overlap_seconds = Number(textIn(sent, 'hours') ?? '24') * 3600
    return shownOnce('Replacement key', await call(rotateKey, { key_id, overlap_seconds }))
  }),
  action('/keys/{key_id}/revoke', async ({ call, params: { key_id } }) => {
    await call(revokeKey, { key_id })
    return redirect(LIST, { notice: 'revoked' })
  }),
]

async function showKeys(visit: Visit): Promise<Reply> {
  const { call, query, may } = visit
  const cursor = textIn(query, 'cursor')
  const { keys, next_cursor } = await call(listKeys, { limit: RECORDS_PER_PAGE, cursor })
  return recordList(visit, {
    title: 'Keys',
    section: 'keys',
    path: LIST,
    about:
      'Requests with a key come from its principal, with its role. A revoked key is refused within a second.',
    forms: may('manage') && createForm(visit),
    records: keys.length === 0 ? undefined : keyTable(keys, visit),
    none: [
      'There are no keys.',
      html`Keys of the settings, such as ASYNCGATE_API_KEY, are not listed here. Create one here, or on the command line:${command('npx asyncgate keys create --principal agent:planner --role agent')}`,
    ],
    next_cursor,
  })
}

function createForm({ form: sent, token, fault }: Visit): Html {
  const value = (name: string) => sent.get(name) ?? ''
  const option = (name: string, text: string) =>
    html`<option${value(name) === text && html` selected`}>${text}</option>`
  return html`<details class="card"${fault !== undefined && html` open`}><summary>New key</summary>${form(
    token,
    LIST,
    html`<label for="kind">Kind of principal</label><select id="kind" name="kind">${['agent', 'worker', 'service', 'human'].map((kind) => option('kind', kind))}</select>
<label for="id">Name of the principal</label><input id="id" name="id" required maxlength="255" value="${value('id')}">
<label for="role">Role</label><select id="role" name="role">${KEY_ROLES.map((role) => option('role', role))}</select>
<label for="name">What it is for</label><input id="name" name="name" maxlength="255" value="${value('name')}">
<label for="days">Expires after days</label><input id="days" name="days" type="number" min="1" max="3650" value="${value('days')}">
<p class="hint">Empty: it does not expire.</p>
<fieldset><legend>Scopes</legend>${SCOPES.map(
      (scope) =>
        html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"${sent.getAll('scope').includes(scope) && html` checked`}> ${scope} <span class="soft">${SCOPE_DESCRIPTIONS[scope]}</span></label>`,
    )}<p class="hint">None: everything that the role allows.</p></fieldset>
<button class="button primary">Create key</button>`,
  )}</details>`
}

const COLUMNS = [
  { label: 'Principal' },
  { label: 'Role', kind: 'tight' },
  { label: 'State', kind: 'tight' },
  { label: 'Key', isExtra: true },
  { label: 'Limited to', isExtra: true },
  { label: 'Last used', kind: 'tight' },
  { label: 'Created', kind: 'tight', isExtra: true },
  { label: 'Ends', kind: 'tight', isExtra: true },
  { label: 'Change', kind: 'tight' },
] as const

function keyTable(keys: readonly Key[], visit: Visit): Html {
  const { now } = visit
  const row = (key: Key) => {
    const end = key.revoked_at ?? key.expires_at
    return tableRow(key.key_id, COLUMNS, [
      html`${principal(key.principal)}${key.name !== null && html`<span class="row-sub">${line(key.name, 100)}</span>`}`,
      key.role,
      html`<span class="status key-${key.state}">${key.state}</span>`,
      identifier(`${key.prefix}_${key.key_id}`),
      limits(key),
      key.last_used_at === null ? html`<span class="soft">never</span>` : time(key.last_used_at, now),
      html`${time(key.created_at, now)}<span class="row-sub">by ${line(key.created_by, 80)}</span>`,
      end === null ? html`<span class="soft">never</span>` : time(end, now),
      key.state === 'active' && changes(key, visit),
    ])
  }
  return table('Keys', COLUMNS, keys.map(row))
}

function limits({ scopes, capabilities }: Key): Content {
  return [...(scopes ?? []), ...(capabilities ?? [])].map(
    (name) => html`<span class="chip">${line(name, 60)}</span> `,
  )
}

function changes({ key_id }: Key, { token, may }: Visit): Content {
  if (!may('manage')) return false
  const path = itemPath('keys', key_id)
  return html`<span class="row-buttons">${recordAction(
    'Rotate',
    key_id,
    form(
      token,
      `${path}/rotate`,
      html`<label>Hours that the old key stays valid <input name="hours" type="number" min="0" max="8760" value="24"></label>
<button class="button">Create the replacement</button>`,
    ),
  )}${recordAction(
    'Revoke',
    key_id,
    form(
      token,
      `${path}/revoke`,
      html`<p>Programs that use the key are refused within a second.</p><button class="button danger solid">Revoke key</button>`,
    ),
    'danger',
  )}</span>`
}

/** The only page that contains the secret of a key. */
function shownOnce(title: string, { key, key_id, principal: of, role }: NewKey): Reply {
  return {
    title,
    section: 'keys',
    body: html`${heading(title)}
<div class="notice good" role="status">Store the key now: it cannot be shown again.</div>
<p><code class="id" id="new-key">${key}</code></p>
${facts([
  { name: 'Principal', value: principal(of) },
  { name: 'Role', value: role },
  { name: 'Key id', value: identifier(key_id) },
])}
<p><a class="button" href="${LIST}">All keys</a></p>`,
  }
}
