import type { z } from 'zod'
import { QUOTAS } from '../../core/settings.ts'
import { getLimits, setLimits } from '../../features/limits/operations.ts'
import { TIERS } from '../../features/limits/tiers.ts'
import { type Html, html } from '../../util/html.ts'
import { facts, faultBox, form, heading, identifier, line, notice, statusOf, time } from '../components.ts'
import { link, textIn } from '../fields.ts'
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
      const quotas = QUOTAS.map((name) => [name, numberIn(textIn(sent, name))])
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

/** An empty field returns to the setting of the server. Other texts are left to the operation, which refuses them. */
function numberIn(given: string | undefined): number | string | null {
  if (given === undefined) return null
  return /^-?\d{1,15}$/.test(given) ? Number(given) : given
}

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
<form method="get"><label for="of">Tenant</label><input id="of" name="tenant" maxlength="255" value="${limits.tenant_id}"><button class="button">Show</button></form>
${facts([
  { name: 'Tier', value: limits.tier ?? 'none: the settings of the server apply' },
  { name: 'Rate limits', value: limits.enabled ? 'enabled' : 'disabled on this server' },
  limits.bypass !== null && {
    name: 'Bypass',
    value: html`${line(limits.bypass.reason, 200)}, by ${line(limits.bypass.approved_by, 80)}`,
  },
])}
${rates(limits, now)}
<table><thead><tr><th>Quota</th><th>Limit</th><th>Used</th></tr></thead><tbody>${limits.quotas.map(
      ({ quota, limit, used }) =>
        html`<tr><td><code>${quota}</code></td><td>${limit < 0 ? 'none' : limit}</td><td>${used ?? ''}</td></tr>`,
    )}</tbody></table>
${limits.set !== null && setForm(visit, limits)}
<p><a class="button" href="${link('/console/audit', { event: 'rate_limit_exceeded' })}">Refused calls</a></p>`,
  }
}

function rates({ rate_limits }: Limits, now: number): Html | false {
  if (rate_limits.length === 0) return false
  return html`<table><thead><tr><th>Calls</th><th>Limit</th><th>Left</th><th>All available</th></tr></thead><tbody>${rate_limits.map(
    ({ bucket, limit, window, remaining, reset_at }) =>
      html`<tr><td>${identifier(bucket)}</td><td>${limit} per ${window}</td><td>${remaining}</td><td>${time(reset_at, now)}</td></tr>`,
  )}</tbody></table>`
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
