import { z } from 'zod'
import type { Json } from '../core/json/json.ts'
import { isPrincipalKind } from '../core/principal.ts'
import { CONDITION_ROOTS } from './condition-data.ts'
import { fitting, line, patternName } from './pattern.ts'
import { ACTIONS, APPROVERS } from './ruling.ts'

export const ruleId = fitting(
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/,
  'is 1 to 128 letters, digits, ., _, : and -, beginning with a letter or a digit',
)

/** Stands for the default action. No rule can have this id. */
export const THE_DEFAULT = 'default'

const part = (max: number) => line(max).optional()

/** All parts that are set must match. `*` matches any text. */
export const scopeShape = z.strictObject({
  upstream: part(64).describe('The upstream of the tool'),
  tool: part(600).describe('The name of the tool, as its upstream calls it'),
  category: part(128).describe('The category that the settings of the upstream give the tool'),
  type: part(600).describe('The type of the task'),
  principal: part(600).describe('The caller, as kind:id or the id of an agent'),
})

export const REDACTION_TARGETS = ['args', 'result', 'both'] as const

export const redactShape = z.strictObject({
  targets: z.enum(REDACTION_TARGETS).describe('Redact the arguments, the result, or both'),
  paths: z
    .array(line(256))
    .max(32)
    .default([])
    .describe('Values to redact by path: $.to, $.items[*].card, $..password'),
  patterns: z
    .array(patternName)
    .max(32)
    .default([])
    .describe('Names of redaction patterns; text that matches one is redacted'),
})

const logic = z
  .custom<Json>((value) => value !== undefined, 'is required')
  .meta({
    type: 'object',
    description: `JSON Logic over ${CONDITION_ROOTS.join(', ')}; the rule applies only if it is true`,
  })

const YEAR_SECONDS = 365 * 24 * 3600

const ACTION = 'What happens to a task or tool call that the rule applies to'
const APPROVE_BY =
  'For REQUIRE_APPROVAL: who may approve. person: only a person other than the caller; client: also the user of the client that made the call, in that client'
const APPROVES =
  'For ALLOW: the rule only replaces the approval that the rule with this id requires; default: that the default action requires; *: that any rule requires'

const optional = {
  description: line(1000).describe('What the rule is for. A caller who is blocked reads it'),
  condition: logic,
  redact: redactShape.describe('For REDACT: what to redact'),
  approves: fitting(
    /^(\*|[A-Za-z0-9][A-Za-z0-9._:-]{0,127})$/,
    'is not the id of a rule, default or *',
  ).describe(APPROVES),
  approval_expires_in_seconds: z
    .int()
    .min(1)
    .max(YEAR_SECONDS)
    .describe('For REQUIRE_APPROVAL: how long to wait for the decision; the default of the server if absent'),
  approve_by: z.enum(APPROVERS).describe(`${APPROVE_BY}. person if absent`),
  expires_at: z.iso.datetime({ offset: true }).describe('The rule applies only before this time'),
}

export const writtenRule = z.strictObject({
  id: ruleId
    .refine((id) => id !== THE_DEFAULT, 'is reserved for the default action')
    .describe('Id of the rule: letters, digits, `.`, `_`, `:` and `-`'),
  action: z.enum(ACTIONS).describe(ACTION),
  scope: scopeShape
    .optional()
    .describe(
      'What the rule applies to: every part that is set must match, and `*` matches any text; everything if absent',
    ),
  priority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .optional()
    .describe('Rules with a higher priority are evaluated first; 0 if absent'),
  enabled: z.boolean().optional().describe('Whether the rule applies; true if absent'),
  ...z.strictObject(optional).partial().shape,
})

export const ruleRecord = z.object({
  id: z.string().describe('Id of the rule'),
  action: z.enum(ACTIONS).describe(ACTION),
  scope: scopeShape.describe(
    'What the rule applies to: every part that is set must match; everything if empty',
  ),
  priority: z.int().describe('Rules with a higher priority are evaluated first'),
  enabled: z.boolean().describe('Whether the rule applies'),
  description: z.string().nullable().describe('What the rule is for'),
  condition: logic.nullable().describe('JSON Logic; the rule applies only if it is true. Null: always'),
  redact: redactShape.nullable().describe('What a rule with the action REDACT redacts'),
  approves: z.string().nullable().describe(APPROVES),
  approval_expires_in_seconds: z
    .int()
    .nullable()
    .describe('How long an approval waits for its decision; null: as the server is configured'),
  approve_by: z.enum(APPROVERS).nullable().describe(`${APPROVE_BY}. Null: person`),
  expires_at: z.string().nullable().describe('The rule applies only before this time; null: without limit'),
})

/** A stored rule; absent fields are null. */
export type RuleDraft = z.output<typeof ruleRecord>
export type Scope = z.output<typeof scopeShape>

export function ruleOf(asked: z.output<typeof writtenRule>): RuleDraft {
  return {
    id: asked.id,
    action: asked.action,
    scope: asked.scope ?? {},
    priority: asked.priority ?? 0,
    enabled: asked.enabled ?? true,
    description: asked.description ?? null,
    condition: asked.condition ?? null,
    redact: asked.redact ?? null,
    approves: asked.approves ?? null,
    approval_expires_in_seconds: asked.approval_expires_in_seconds ?? null,
    approve_by: asked.approve_by ?? null,
    expires_at: asked.expires_at ?? null,
  }
}

/** Higher priority first, then the more specific scope, then the id. */
export function compareRules(a: RuleDraft, b: RuleDraft): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  const [more, less] = [specificity(b.scope), specificity(a.scope)]
  if (more !== less) return more - less
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

export function specificity(scope: Scope): number {
  return Object.values(scope).filter((value) => value !== undefined).length
}

/** The principal of a scope as `kind:id`. The default kind is agent. */
export function principalOf(text: string): string {
  const [kind = ''] = text.split(':')
  return text.includes(':') && isPrincipalKind(kind) ? text : `agent:${text}`
}

/** A contradiction between fields of a rule. */
export function contradictionIn(
  rule: RuleDraft,
): { readonly path: string; readonly problem: string } | undefined {
  const { action, redact, approves, approval_expires_in_seconds, approve_by } = rule
  if (action === 'REDACT') {
    if (redact === null) return { path: 'redact', problem: 'is required for REDACT' }
    if (redact.paths.length + redact.patterns.length === 0) {
      return { path: 'redact', problem: 'names no paths and no patterns, so it redacts nothing' }
    }
  } else if (redact !== null) return { path: 'redact', problem: 'is only for REDACT' }
  if (approves !== null && action !== 'ALLOW') return { path: 'approves', problem: 'is only for ALLOW' }
  if (approval_expires_in_seconds !== null && action !== 'REQUIRE_APPROVAL') {
    return { path: 'approval_expires_in_seconds', problem: 'is only for REQUIRE_APPROVAL' }
  }
  if (approve_by !== null && action !== 'REQUIRE_APPROVAL') {
    return { path: 'approve_by', problem: 'is only for REQUIRE_APPROVAL' }
  }
  return undefined
}
