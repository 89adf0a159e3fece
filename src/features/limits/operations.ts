import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { QUOTAS } from '../../core/settings.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { time } from '../input.ts'
import { checkOperator, tenantField } from '../operator-tenant.ts'
import type { Services } from '../services.ts'
import { change, MAX_PRINCIPALS, setFields } from './change.ts'
import { windowOf } from './fault.ts'
import { type Bypass, isActive, rateLimitShape } from './record.ts'
import type { TenantLimits } from './tenant-limits.ts'
import { TIERS } from './tiers.ts'
import { quotaUse } from './usage.ts'

/** The limits of a tenant protect the others, so its own admins cannot change them. */
const PURPOSE = 'set limits or read those of another tenant'

const bypassView = z.object({
  reason: z.string().describe('Why the limits do not apply'),
  approved_by: z.string().describe('The admin who allowed it'),
  expires_at: time.nullable().describe('When it ends; null if it does not'),
})

const limitsShape = z.object({
  tenant_id: z.string().describe('The tenant'),
  enabled: z.boolean().describe('Whether this server applies rate limits. Quotas always apply'),
  tier: z.enum(TIERS).nullable().describe('The tier of the tenant; null: the settings of the server apply'),
  rate_limits: z
    .array(
      z.object({
        bucket: z.string().describe('What is counted, as in the header X-RateLimit-Bucket'),
        limit: z.int().describe('Calls that are possible at once'),
        window: z.string().describe('The time in which they become available again, as in 1h'),
        remaining: z.int().describe('Calls that are possible now'),
        reset_at: time.describe('When all of them are available again'),
      }),
    )
    .readonly()
    .describe('The rate limits of the caller; empty if none applies'),
  quotas: z
    .array(
      z.object({
        quota: z.enum(QUOTAS).describe('The name of the quota, which is that of its setting'),
        limit: z.int().describe('The limit; -1 is none'),
        used: z
          .int()
          .nullable()
          .describe('What is used of it; null if it applies to a single request or task'),
      }),
    )
    .readonly()
    .describe('The quotas of the tenant'),
  bypass: bypassView.nullable().describe('Why the rate limits do not apply to the tenant; null if they do'),
  set: z
    .object({
      tenant_calls: rateLimitShape.nullable().describe('Calls of the tenant'),
      principal_calls: rateLimitShape.nullable().describe('Calls of each principal'),
      tasks: rateLimitShape.nullable().describe('New tasks of the tenant'),
      principals: z
        .array(
          z.object({
            principal: z.string().describe('The principal, as kind:id'),
            calls: rateLimitShape.nullable().describe('Its limit; null: that of every principal'),
            bypass: bypassView.nullable().describe('Why no limit applies to it; null if one does'),
          }),
        )
        .readonly()
        .describe('The principals with their own limits'),
    })
    .nullable()
    .describe('What was set for the tenant; null for callers who do not see the whole tenant'),
})

export const getLimits = defineOperation({
  name: 'get_limits',
  title: 'Get your limits',
  description:
    'Your rate limits with what is left of them, and the quotas of your tenant with what is used. Does not count as a call.',
  input: z.strictObject({ tenant: tenantField }),
  output: limitsShape,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/limits' },
  async run(services, caller, { tenant = caller.tenant }) {
    if (tenant !== caller.tenant) checkOperator(caller, PURPOSE)
    const { tenant: id } = await services.engine.tenant(tenant)
    return view(services, caller, tenant, id, await services.limits.refresh(id))
  },
})

export const setLimits = defineOperation({
  name: 'set_limits',
  title: 'Set the limits of a tenant',
  description:
    'For admins of the tenant default: sets the tier, rate limits, quotas or a bypass of a tenant. Absent fields stay as they are; null returns to the tier or the settings of the server. Effective on every server within a second.',
  input: z.strictObject({ tenant: tenantField, ...setFields }),
  output: limitsShape,
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/limits' },
  effect: WRITES_ONCE,
  auditSubject: 'tenant_id',
  needsPerson: true,
  example: { tenant: 'acme', tier: 'paid', quotas: { max_active_tasks: 1000 } },
  async run(services, caller, { tenant = caller.tenant, ...given }) {
    checkOperator(caller, PURPOSE)
    const { tenant: id } = await services.engine.tenant(tenant)
    const by = principalKey(caller.principal)
    const changed = await services.limits.change(id, (before) => {
      const after = change(before, given, by, Date.now())
      if (Object.keys(after.principals).length > MAX_PRINCIPALS)
        throw invalid(
          'principal',
          `is one more than the limit of ${MAX_PRINCIPALS} principals with own limits`,
        )
      return after
    })
    if (given.bypass != null) {
      const { reason, expires_at = null } = given.bypass
      services.audit.record({
        event: 'rate_limit_bypass_granted',
        tenant: caller.tenant,
        principal: by,
        subject: given.principal ?? tenant,
        reason,
        key_id: caller.key_id,
        origin: caller.origin,
        details: { tenant_id: tenant, principal: given.principal, approved_by: by, expires_at },
      })
    }
    return view(services, caller, tenant, id, changed)
  },
})

async function view(
  { engine, rateLimits }: Pick<Services, 'engine' | 'rateLimits'>,
  caller: Caller,
  name: string,
  tenant: number,
  limits: TenantLimits,
): Promise<z.output<typeof limitsShape>> {
  const { stored, settings } = limits
  const now = Date.now()
  const standings = await rateLimits.standings({ ...caller, tenant: name }, limits)
  const counters = await engine.reading(() => engine.store.reads.counters(tenant))
  return {
    tenant_id: name,
    enabled: rateLimits.isEnabled,
    tier: stored.tier,
    rate_limits: standings.map(({ bucket, standing }) => ({
      bucket: bucket.name,
      limit: bucket.limit.calls,
      window: windowOf(bucket.limit),
      remaining: standing.remaining,
      reset_at: isoTime(now + standing.full_ms),
    })),
    quotas: quotaUse(settings, counters),
    bypass: isActive(stored.bypass, now) ? viewOf(stored.bypass) : null,
    set: seesAll(caller.role)
      ? {
          tenant_calls: stored.tenant_calls,
          principal_calls: stored.principal_calls,
          tasks: stored.tasks,
          principals: Object.entries(stored.principals).map(([principal, { calls, bypass }]) => ({
            principal,
            calls,
            bypass: isActive(bypass, now) ? viewOf(bypass) : null,
          })),
        }
      : null,
  }
}

function viewOf(bypass: Bypass | null) {
  return bypass && { ...bypass, expires_at: isoOrNull(bypass.expires_at) }
}
