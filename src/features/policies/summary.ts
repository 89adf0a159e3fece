import { z } from 'zod'
import { nextCursor } from '../input.ts'
import { line, summaryView } from '../summary.ts'
import { type PatternView, type PolicyView, policyDefaultsShape, policyShape } from './shape.ts'

const MAX_DESCRIPTION = 100
const MAX_SCOPE = 120
const MAX_PATTERN = 60

const ruleRowShape = z.object({
  id: policyShape.shape.id,
  action: policyShape.shape.action,
  priority: policyShape.shape.priority,
  scope: z.string().describe('What the rule applies to, such as type=buy; cut if it is long'),
  conditional: z.literal(true).optional().describe('Present if the rule also has a condition'),
  enabled: z.literal(false).optional().describe('Present if the rule does not apply'),
  expires_at: z.string().optional().describe('The rule applies only before this time'),
  description: z.string().optional().describe('What the rule is for'),
})

interface PolicyPage {
  readonly policies: readonly PolicyView[]
  readonly defaults: z.output<typeof policyDefaultsShape>
  readonly next_cursor: string | null
}

export const policyListSummary = summaryView({
  shape: z.object({
    policies: z.array(ruleRowShape),
    defaults: policyDefaultsShape,
    next_cursor: nextCursor,
  }),
  defaults: { limit: 20 },
  of: ({ policies, defaults, next_cursor }: PolicyPage) => ({
    policies: policies.map((rule) => ({
      id: rule.id,
      action: rule.action,
      priority: rule.priority,
      scope: scopeWords(rule.scope),
      ...(rule.condition !== null && { conditional: true as const }),
      ...(!rule.enabled && { enabled: false as const }),
      ...(rule.expires_at !== null && { expires_at: rule.expires_at }),
      ...(rule.description !== null && { description: line(rule.description, MAX_DESCRIPTION) }),
    })),
    defaults,
    next_cursor,
  }),
})

function scopeWords(scope: PolicyView['scope']): string {
  const set = Object.entries(scope).filter(([, value]) => value !== undefined)
  return line(set.map(([name, value]) => `${name}=${value}`).join(' '), MAX_SCOPE) || 'everything'
}

const patternRowShape = z.object({
  name: z.string().describe('Name of the pattern, used in rules'),
  pattern: z.string().describe('The regular expression; cut if it is long'),
  enabled: z.literal(false).optional().describe('Present if the pattern matches nothing'),
  description: z.string().optional().describe('What the pattern matches'),
})

export const patternListSummary = summaryView({
  shape: z.object({ patterns: z.array(patternRowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { patterns: readonly PatternView[]; next_cursor: string | null }) => ({
    patterns: page.patterns.map(({ name, pattern, enabled, description }) => ({
      name,
      pattern: line(pattern, MAX_PATTERN),
      ...(!enabled && { enabled: false as const }),
      ...(description !== null && { description: line(description, MAX_DESCRIPTION) }),
    })),
    next_cursor: page.next_cursor,
  }),
})
