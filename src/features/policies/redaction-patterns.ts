import { z } from 'zod'
import { principalKey } from '../../core/principal.ts'
import { patternOf, writtenPattern } from '../../policy/pattern.ts'
import { defineOperation, ENDS, READS, WRITES_ONCE } from '../define-operation.ts'
import { text, withoutNulls } from '../input.ts'
import { checkPattern, patternShape } from './shape.ts'

export const listRedactionPatterns = defineOperation({
  name: 'list_redaction_patterns',
  title: 'List redaction patterns',
  description: 'For admins: the patterns that rules can name to redact text, built-in patterns first.',
  input: z.strictObject({}),
  output: z.object({ patterns: z.array(patternShape).readonly().describe('All patterns') }),
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'GET', path: '/v1/redaction-patterns' },
  effect: READS,
  async run({ engine, policies }, caller) {
    const { tenant } = await engine.tenant(caller.tenant)
    const { patterns } = await policies.copy(tenant)
    return { patterns: [...patterns.values()].map(({ view }) => view) }
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
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'POST', path: '/v1/redaction-patterns' },
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
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'POST', path: '/v1/redaction-patterns/{name}/remove' },
  effect: ENDS,
  needsPerson: true,
  async run({ engine, policies }, caller, { name }) {
    const { tenant } = await engine.tenant(caller.tenant)
    return { name, removed: await policies.removePattern(tenant, name, principalKey(caller.principal)) }
  },
})
