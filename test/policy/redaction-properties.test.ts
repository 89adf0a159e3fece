import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Json } from '../../src/core/json/json.ts'
import type { Pattern } from '../../src/policy/pattern.ts'
import type { RuleDraft } from '../../src/policy/rule.ts'
import type { PolicyContext } from '../../src/policy/ruling.ts'
import { BADGE, decidingRules, objects, redactingRules, textsIn, values } from './rule-books.ts'
import { book, call, patterns, rule, task } from './support.ts'

let known: Map<string, Pattern>
beforeAll(async () => {
  known = await patterns({ badge: BADGE })
})

const rules = fc
  .array(fc.oneof(decidingRules, redactingRules), { maxLength: 7 })
  .map((all) => all.map((fields, i) => rule(`r${i}`, fields)))

const defaults = fc.record({
  plain: fc.constantFrom('ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'),
  upstream: fc.constantFrom('ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'),
})

const contexts = fc
  .record({
    isCall: fc.boolean(),
    tool: fc.constantFrom('send', 'read'),
    agent: fc.constantFrom('alice', 'carol'),
    principal: fc.constantFrom<`agent:${string}`>('agent:alice', 'agent:bob'),
    args: objects,
  })
  .map(({ isCall, tool, ...who }) => (isCall ? call({ tool, ...who }) : task({ type: 'job', ...who })))

/** The texts in which a pattern of the rule still matches. */
function leftBy({ redact }: RuleDraft, value: Json): string[] {
  const named = redact?.patterns.flatMap((name) => known.get(name) ?? []) ?? []
  return textsIn(value).filter((text) => named.some(({ replace }) => replace(text) !== text))
}

/** Whether the rule alone applies to the context. */
function matches(draft: RuleDraft, context: PolicyContext): boolean {
  return book([draft], { known }).rule(context).redacting.includes(draft.id)
}

test('no match of an applicable REDACT rule is left, whichever rule decides', () => {
  fc.assert(
    fc.property(rules, contexts, values, defaults, (all, context, result, byDefault) => {
      const made = book(all, { known, defaults: byDefault })
      const ruling = made.rule(context)
      const args = ruling.redactArgs(context.args).value
      const text = ruling.redactText(context.args).value
      const returned = made.redactResult({ ...context, args }, result, ruling.redacting).value
      for (const draft of all) {
        if (draft.action !== 'REDACT' || !matches(draft, context)) continue
        const { targets } = draft.redact ?? {}
        if (targets !== 'result') expect([...leftBy(draft, args), ...leftBy(draft, text)]).toEqual([])
        if (targets !== 'args') expect(leftBy(draft, returned)).toEqual([])
      }
    }),
    { numRuns: 2000 },
  )
})

test('an added REDACT rule allows nothing that was blocked or required approval', () => {
  const broken = fc.constantFrom(
    { patterns: ['gone'] },
    { patterns: ['card'], paths: ['$..card'] },
    { patterns: ['card'] },
  )
  const added = fc
    .tuple(redactingRules, broken)
    .map(([fields, redact]) => rule('added', { ...fields, redact: { targets: 'both', ...redact } }))
  fc.assert(
    fc.property(rules, added, contexts, defaults, (all, more, context, byDefault) => {
      const before = book(all, { known, defaults: byDefault }).rule(context)
      const after = book([...all, more], { known, defaults: byDefault }).rule(context)
      if (before.action === 'BLOCK') expect(after.action).toBe('BLOCK')
      if (before.action === 'REQUIRE_APPROVAL') expect(['REQUIRE_APPROVAL', 'BLOCK']).toContain(after.action)
    }),
    { numRuns: 2000 },
  )
})
