import { z } from 'zod'
import type { Output } from '../../output.ts'

/** As much of a rule as is shown here; a newer server may say more. */
export const policyShape = z.looseObject({
  id: z.string(),
  description: z.string().nullable(),
  scope: z.record(z.string(), z.string()),
  action: z.string(),
  condition: z.unknown(),
  redact: z
    .looseObject({ targets: z.string(), paths: z.array(z.string()), patterns: z.array(z.string()) })
    .nullable(),
  approves: z.string().nullable(),
  approval_expires_in_seconds: z.number().nullable(),
  priority: z.number(),
  enabled: z.boolean(),
  expires_at: z.string().nullable(),
  source: z.string(),
  version: z.number().nullable(),
  updated_at: z.string().nullable(),
  updated_by: z.string().nullable(),
})

export const policiesShape = z.looseObject({
  policies: z.array(policyShape),
  defaults: z.looseObject({ plain: z.string(), upstream: z.string() }),
})

export const patternShape = z.looseObject({
  name: z.string(),
  pattern: z.string(),
  replacement: z.string(),
  enabled: z.boolean(),
  description: z.string().nullable(),
  source: z.string(),
})

export type PolicyInfo = z.output<typeof policyShape>

export function pathOf(id: string): string {
  return `/v1/policies/${encodeURIComponent(id)}`
}

/** What it is for, as in `tool=send_* principal=agent:alice`. */
export function scopeOf({ scope }: PolicyInfo): string {
  const parts = Object.entries(scope).map(([name, value]) => `${name}=${value}`)
  return parts.length === 0 ? 'everything' : parts.join(' ')
}

/** Whether it holds at present, and until when. */
export function stateOf({ enabled, expires_at }: PolicyInfo): string {
  if (!enabled) return 'off'
  if (expires_at === null) return 'on'
  return Date.parse(expires_at) <= Date.now() ? 'expired' : `until ${expires_at}`
}

export function tellPolicy(output: Output, policy: PolicyInfo): void {
  const { redact, approves, approval_expires_in_seconds: seconds } = policy
  const lines: [string, string][] = [
    ['rule', `${policy.id} (${policy.source})`],
    ['says', policy.description ?? ''],
    ['for', scopeOf(policy)],
    ['action', policy.action],
    ['condition', policy.condition === null ? '' : JSON.stringify(policy.condition)],
    [
      'redacts',
      redact === null ? '' : `${redact.targets}: ${[...redact.paths, ...redact.patterns].join(', ')}`,
    ],
    [
      'stands in',
      approves === null ? '' : `where ${approves === '*' ? 'any rule' : approves} asks for approval`,
    ],
    ['approval', seconds === null ? '' : `expires after ${seconds} s`],
    ['priority', String(policy.priority)],
    ['state', stateOf(policy)],
    [
      'version',
      policy.version === null ? '' : `${policy.version}, by ${policy.updated_by} at ${policy.updated_at}`,
    ],
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
}
