import { z } from 'zod'
import type { Json } from '../core/json/json.ts'
import { isPrincipalKind } from '../core/principal.ts'
import { CONDITION_ROOTS } from './condition.ts'
import { patternName } from './pattern.ts'
import { ACTIONS } from './ruling.ts'
import { fitting, line } from './text.ts'

export const ruleId = fitting(
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/,
  'is 1 to 128 letters, digits, ., _, : and -, beginning with a letter or a digit',
)

/** What the default is called where it asks for approval; so no rule can be called that. */
export const THE_DEFAULT = 'default'

const part = (max: number) => line(max).optional()

/** All that is set must fit. In each, `*` stands for any text. */
export const scopeShape = z.strictObject({
  upstream: part(64),
  tool: part(600).meta({ description: 'As the upstream calls it' }),
  category: part(128),
  type: part(600),
  principal: part(600).meta({ description: 'kind:id, or the id of an agent' }),
})

export const REDACTION_TARGETS = ['args', 'result', 'both'] as const

export const redactShape = z.strictObject({
  targets: z.enum(REDACTION_TARGETS),
  paths: z
    .array(line(256))
    .max(32)
    .default([])
    .meta({ description: 'Like $.to, $.items[*].card, $..password' }),
  patterns: z.array(patternName).max(32).default([]).meta({ description: 'Names of redaction patterns' }),
})

const logic = z
  .custom<Json>((value) => value !== undefined, 'is required')
  .meta({
    type: 'object',
    description: `JSON Logic over ${CONDITION_ROOTS.join(', ')}`,
  })

const YEAR_SECONDS = 365 * 24 * 3600

const priority = z.int().min(-1_000_000).max(1_000_000)

const optional = {
  description: line(1000).meta({ description: 'Whoever is blocked reads it' }),
  condition: logic,
  redact: redactShape.meta({ description: 'For REDACT: what is taken out of what' }),
  approves: fitting(/^(\*|[A-Za-z0-9][A-Za-z0-9._:-]{0,127})$/, 'is not the id of a rule, default or *').meta(
    {
      description:
        'For ALLOW: it only stands in for a person where this rule asks for approval; default: where the default does, *: where any does',
    },
  ),
  approval_expires_in_seconds: z.int().min(1).max(YEAR_SECONDS),
  expires_at: z.iso.datetime({ offset: true }).meta({ description: 'From then on it does not apply' }),
}

/** Each of them but id and action may be left out. */
export const writtenRule = z.strictObject({
  id: ruleId.refine((id) => id !== THE_DEFAULT, 'is the name of what is done where no rule decides'),
  action: z.enum(ACTIONS),
  scope: scopeShape.optional(),
  priority: priority.optional().meta({ description: 'Higher ones are asked first; 0 if absent' }),
  enabled: z.boolean().optional(),
  ...z.strictObject(optional).partial().shape,
})

export const ruleRecord = z.object({
  id: z.string(),
  action: z.enum(ACTIONS),
  scope: scopeShape,
  priority: z.int(),
  enabled: z.boolean(),
  description: z.string().nullable(),
  condition: logic.nullable(),
  redact: redactShape.nullable(),
  approves: z.string().nullable(),
  approval_expires_in_seconds: z.int().nullable(),
  expires_at: z.string().nullable(),
})

/** A rule as it was written; what was left out is null. */
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
    expires_at: asked.expires_at ?? null,
  }
}

/** Higher priority first, then the rule that says more about what it is for, then the id. No two are equal. */
export function compareRules(a: RuleDraft, b: RuleDraft): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  const [more, less] = [specificity(b.scope), specificity(a.scope)]
  if (more !== less) return more - less
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

/** How many parts of the scope are set. */
export function specificity(scope: Scope): number {
  return Object.values(scope).filter((value) => value !== undefined).length
}

/** The principal of a scope as `kind:id`; without a kind it is an agent. */
export function principalOf(text: string): string {
  const [kind = ''] = text.split(':')
  return text.includes(':') && isPrincipalKind(kind) ? text : `agent:${text}`
}

/** What does not fit together in a rule, and where. */
export function contradictionIn(
  rule: RuleDraft,
): { readonly path: string; readonly problem: string } | undefined {
  const { action, redact, approves, approval_expires_in_seconds } = rule
  if (action === 'REDACT') {
    if (redact === null) return { path: 'redact', problem: 'is required for REDACT' }
    if (redact.paths.length + redact.patterns.length === 0) {
      return { path: 'redact', problem: 'names no paths and no patterns, so it takes nothing out' }
    }
  } else if (redact !== null) return { path: 'redact', problem: 'is only for REDACT' }
  if (approves !== null && action !== 'ALLOW') return { path: 'approves', problem: 'is only for ALLOW' }
  if (approval_expires_in_seconds !== null && action !== 'REQUIRE_APPROVAL') {
    return { path: 'approval_expires_in_seconds', problem: 'is only for REQUIRE_APPROVAL' }
  }
  return undefined
}
