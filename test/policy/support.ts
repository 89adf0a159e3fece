import { BUILT_IN_PATTERNS } from '../../src/policy/built-in-patterns.ts'
import { CompiledRule } from '../../src/policy/compiled-rule.ts'
import { type Pattern, patternCompiler, patternOf } from '../../src/policy/pattern.ts'
import { type RuleDraft, ruleOf, writtenRule } from '../../src/policy/rule.ts'
import { RuleBook } from '../../src/policy/rule-book.ts'
import type { Defaults, PolicyContext } from '../../src/policy/ruling.ts'

export const NOW = Date.UTC(2026, 0, 1)

export function rule(id: string, fields: object): RuleDraft {
  return ruleOf(writtenRule.parse({ id, ...fields }))
}

/** A tool call by agent:alice by default. */
export function call(fields: Partial<PolicyContext> = {}): PolicyContext {
  return {
    type: 'mcp.tool_call',
    tool: 'send_email',
    upstream: 'mail',
    category: 'write',
    agent: 'alice',
    principal: 'agent:alice',
    tenant: 'default',
    session: null,
    args: {},
    ...fields,
  }
}

export function task(fields: Partial<PolicyContext> = {}): PolicyContext {
  return call({ type: 'render', tool: null, upstream: null, category: null, ...fields })
}

/** The given and the built-in patterns by name. */
export async function patterns(own: Record<string, string> = {}): Promise<Map<string, Pattern>> {
  const compile = await patternCompiler()
  const drafts = Object.entries(own).map(([name, pattern]) => patternOf({ name, pattern }))
  return new Map([...BUILT_IN_PATTERNS, ...drafts].map((draft) => [draft.name, compile(draft)]))
}

export function book(
  rules: readonly RuleDraft[],
  { defaults = {}, known = new Map(), now = () => NOW }: BookOptions = {},
): RuleBook {
  return new RuleBook({
    rules: rules.map((draft) => new CompiledRule(draft)),
    patterns: known,
    defaults: { plain: 'ALLOW', upstream: 'BLOCK', ...defaults },
    now,
  })
}

interface BookOptions {
  readonly defaults?: Partial<Defaults>
  readonly known?: ReadonlyMap<string, Pattern | null>
  readonly now?: () => number
}
