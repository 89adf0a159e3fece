import type { z } from 'zod'
import { QUOTAS } from '../../core/settings.ts'
import { getLimits, setLimits } from '../../features/limits/operations.ts'
import { TIERS } from '../../features/limits/tiers.ts'
import { type Html, html } from '../../util/html.ts'
import {
  count,
  facts,
  faultBox,
  form,
  heading,
  identifier,
  line,
  notice,
  statusOf,
  table,
  tableRow,
  time,
} from '../components.ts'
import { integerIn, link, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'

type Limits = z.output<typeof getLimits.output>

const PATH = '/console/limits'

/** The option of a form that returns to the settings of the server. */
const NO_TIER = 'none'

export const limitsRoutes = [
  page('/limits', showLimits),
  action(
    '/limits',
    async ({ call, form: sent }) => {
      const tier = textIn(sent, 'tier')
      // An empty field returns to the setting of the server.
      const quotas = QUOTAS.map((name) => [name, integerIn(sent, name) ?? null])
      const { tenant_id } = await call(setLimits, {
        tenant: textIn(sent, 'tenant'),
        tier: tier === NO_TIER ? null : tier,
        quotas: Object.fromEntries(quotas),
      })
      return redirect(PATH, { tenant: tenant_id, notice: 'saved' })
    },
    showLimits,
  ),
]

async function showLimits(visit: Visit): Promise<Reply> {
  const { call, query, form: sent, now, fault } = visit
  const tenant = textIn(sent, 'tenant') ?? textIn(query, 'tenant')
  const limits = await call(getLimits, { tenant })
  return {
    title: 'Limits',
    section: 'limits',
    status: statusOf(fault),
    body: html`${heading('Limits')}
${notice(query)}
${faultBox(fault)}
<form class="inline" method="get" role="search" aria-label="Choose a tenant"><label for="of">Tenant</label><input id="of" name="tenant" maxlength="255" value="${limits.tenant_id}"><button class="button">Show</button></form>
${facts([
  { name: 'Tier', value: limits.tier ?? 'none: the settings of the server apply' },
  { name: 'Rate limits', value: limits.enabled ? 'enabled' : 'disabled on this server' },
  limits.bypass !== null && {
    name: 'Bypass',
    value: html`${line(limits.bypass.reason, 200)}, by ${line(limits.bypass.approved_by, 80)}`,
  },
])}
${rates(limits, now)}
<h2>Quotas</h2>
${quotaTable(limits)}
${limits.set !== null && visit.may('manage') && setForm(visit, limits)}
<p><a class="button" href="${link('/console/audit', { event: 'rate_limit_exceeded' })}">Refused calls</a></p>`,
  }
}

const QUOTA_COLUMNS = [
  { label: 'Quota', kind: 'wide' },
  { label: 'Limit', kind: 'number' },
  { label: 'Used', kind: 'number' },
] as const

function quotaTable({ quotas }: Limits): Html {
  const row = ({ quota, limit, used }: Limits['quotas'][number]) =>
    tableRow(quota, QUOTA_COLUMNS, [
      html`<code>${quota}</code>`,
      limit < 0 ? 'none' : count(limit),
      used !== null && count(used),
    ])
  return table('Quotas', QUOTA_COLUMNS, quotas.map(row))
}

const RATE_COLUMNS = [
  { label: 'Calls of', kind: 'wide' },
  { label: 'Limit', kind: 'tight' },
  { label: 'Left', kind: 'number' },
  { label: 'All available', kind: 'tight' },
] as const

function rates({ rate_limits }: Limits, now: number): Html | false {
  if (rate_limits.length === 0) return false
  const row = ({ bucket, limit, window, remaining, reset_at }: Limits['rate_limits'][number]) =>
    tableRow(bucket, RATE_COLUMNS, [
      identifier(bucket),
      `${count(limit)} per ${window}`,
      count(remaining),
      time(reset_at, now),
    ])
  return html`<h2>Rate limits</h2>${table('Rate limits', RATE_COLUMNS, rate_limits.map(row))}`
}

function setForm({ token, fault, form: sent }: Visit, { tenant_id, tier, quotas }: Limits): Html {
  const chosen = sent.get('tier') ?? tier ?? NO_TIER
  return html`<details class="card"${fault !== undefined && html` open`}><summary>Change</summary>${form(
    token,
    PATH,
    html`<input type="hidden" name="tenant" value="${tenant_id}">
<label for="tier">Tier</label><select id="tier" name="tier">${[NO_TIER, ...TIERS].map(
      (name) => html`<option${name === chosen && html` selected`}>${name}</option>`,
    )}</select>
${quotas.map(
  ({ quota, limit }) =>
    html`<label for="${quota}">${quota}</label><input id="${quota}" name="${quota}" value="${sent.get(quota) ?? String(limit)}">`,
)}
<p class="hint">-1 is no limit. Empty: the tier or the setting of the server. Rates and exemptions are set with "asyncgate limits set".</p>
<button class="button primary">Save</button>`,
  )}</details>`
}
