import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import { patternOf, writtenPattern } from '../../policy/pattern.ts'
import { ruleOf, writtenRule } from '../../policy/rule.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { nextCursor, text, withoutNulls } from '../input.ts'
import { optionalPage, pageOf } from '../page.ts'
import { checkPattern, patternShape, policyDefaultsShape, policyShape } from './shape.ts'
import { patternListSummary, policyListSummary } from './summary.ts'

const ruleInput = z.strictObject({ id: text(255).describe('Id of the rule') })

export const listPolicies = defineOperation({
  name: 'list_policies',
  title: 'List policies',
  description:
    'For admins: the rules that allow, block, redact or require approval of tasks and calls of upstream tools, in the order in which they are evaluated, and the default actions where no rule decides. Repeat with next_cursor until it is null.',
  input: z.strictObject(optionalPage),
  output: z.object({
    policies: z.array(policyShape).readonly().describe('The rules, in the order in which they are evaluated'),
    defaults: policyDefaultsShape,
    next_cursor: nextCursor,
  }),
  summary: policyListSummary,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/policies' },
  async run({ engine, policies }, caller, page) {
    const { tenant } = await engine.tenant(caller.tenant)
    const { rules, book } = await policies.refresh(tenant)
    const views = book.rules.flatMap(({ id }) => rules.get(id)?.view ?? [])
    const { items, next_cursor } = pageOf(views, ({ id }) => id, page)
    return { policies: items, defaults: { ...policies.parts.defaults }, next_cursor }
  },
})

export const getPolicy = defineOperation({
  name: 'get_policy',
  title: 'Get a policy rule',
  description: 'For admins: one rule, with the author and time of its last change.',
  input: ruleInput,
  output: policyShape,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/policies/{id}' },
  async run({ engine, policies }, caller, { id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const found = (await policies.refresh(tenant)).rules.get(id)
    if (found === undefined) throw new Fault('POLICY_NOT_FOUND', { id })
    return found.view
  },
})

export const putPolicy = defineOperation({
  name: 'put_policy',
  title: 'Create or replace a policy rule',
  description:
    'For admins: adds a rule, or replaces the one with the same id. It applies to tasks created from now on, and a receipt records the change. Try the rule with test_policy first.',
  input: writtenRule,
  normalize: withoutNulls,
  output: policyShape,
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/policies' },
  auditSubject: 'id',
  effect: WRITES_ONCE,
  needsPerson: true,
  example: {
    id: 'spending',
    action: 'REQUIRE_APPROVAL',
    scope: { type: 'buy' },
    condition: { '>': [{ var: 'args.amount' }, 100] },
    priority: 200,
  },
  async run({ engine, policies }, caller, rule) {
    const { tenant } = await engine.tenant(caller.tenant)
    return policies.putRule(tenant, ruleOf(rule), principalKey(caller.principal))
  },
})

export const removePolicy = defineOperation({
  name: 'remove_policy',
  title: 'Remove a policy rule',
  description:
    'For admins: deletes a rule; a receipt records the change. removed is false if there was no such rule. To disable a rule for a while, write it with enabled false.',
  input: ruleInput,
  output: z.object({
    id: z.string().describe('Id of the rule'),
    removed: z.boolean().describe('False if there was no such rule'),
  }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/policies/{id}/remove' },
  effect: ENDS,
  needsPerson: true,
  async run({ engine, policies }, caller, { id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return { id, removed: await policies.removeRule(tenant, id, principalKey(caller.principal)) }
  },
})

export const listRedactionPatterns = defineOperation({
  name: 'list_redaction_patterns',
  title: 'List redaction patterns',
  description:
    'For admins: the patterns that rules can name to redact text, built-in patterns first. Repeat with next_cursor until it is null.',
  input: z.strictObject(optionalPage),
  output: z.object({
    patterns: z.array(patternShape).readonly().describe('The patterns, built-in ones first'),
    next_cursor: nextCursor,
  }),
  summary: patternListSummary,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/redaction-patterns' },
  async run({ engine, policies }, caller, page) {
    const { tenant } = await engine.tenant(caller.tenant)
    const { patterns } = await policies.refresh(tenant)
    const views = [...patterns.values()].map(({ view }) => view)
    const { items, next_cursor } = pageOf(views, ({ name }) => name, page)
    return { patterns: items, next_cursor }
  },
})

export const putRedactionPattern = defineOperation({
  name: 'put_redaction_pattern',
  title: 'Create or replace a redaction pattern',
  description:
    'For admins: adds a pattern that rules can name, or replaces the one with the same name. It is a regular expression in the syntax of RE2, without look-arounds and back-references.',
  input: writtenPattern,
  normalize: withoutNulls,
  output: patternShape,
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/redaction-patterns' },
  auditSubject: 'name',
  effect: WRITES_ONCE,
  needsPerson: true,
  example: { name: 'plate', pattern: '\\b[A-Z]{2}-\\d{3,4}\\b', replacement: '(plate)' },
  async run({ engine, policies }, caller, pattern) {
    const draft = patternOf(pattern)
    await checkPattern(draft)
    const { tenant } = await engine.tenant(caller.tenant)
    return policies.putPattern(tenant, draft, principalKey(caller.principal))
  },
})

export const removeRedactionPattern = defineOperation({
  name: 'remove_redaction_pattern',
  title: 'Remove a redaction pattern',
  description:
    'For admins: deletes a pattern that no rule names. removed is false if there was no such pattern.',
  input: z.strictObject({ name: text(255).describe('Name of the pattern') }),
  output: z.object({
    name: z.string().describe('Name of the pattern'),
    removed: z.boolean().describe('False if there was no such pattern'),
  }),
  access: 'manage',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/redaction-patterns/{name}/remove' },
  effect: ENDS,
  needsPerson: true,
  async run({ engine, policies }, caller, { name }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return { name, removed: await policies.removePattern(tenant, name, principalKey(caller.principal)) }
  },
})
