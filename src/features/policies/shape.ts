import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { CompiledRule } from '../../policy/compiled-rule.ts'
import { ConditionError } from '../../policy/condition.ts'
import { PathError } from '../../policy/path.ts'
import {
  type PatternDraft,
  PatternError,
  patternCompiler,
  patternOf,
  patternRecord,
  writtenPattern,
} from '../../policy/pattern.ts'
import { contradictionIn, type RuleDraft, ruleOf, ruleRecord, writtenRule } from '../../policy/rule.ts'
import { ACTIONS } from '../../policy/ruling.ts'
import { json, parse, text, withoutNulls } from '../input.ts'
import { createInput } from '../tasks/task-input.ts'

/** A change is told in a receipt, with what was there before. */
const MAX_RULE_BYTES = 24 * 1024

const time = z.iso.datetime()

const origin = {
  source: z
    .enum(['api', 'file', 'built_in'])
    .meta({ description: 'What is not from the API cannot be changed by it' }),
  version: z.int().nullable().meta({ description: 'Counts the changes' }),
  updated_at: time.nullable(),
  updated_by: z.string().nullable(),
}

export const putPolicyInput = writtenRule
export const policyShape = z.object({ ...ruleRecord.shape, ...origin })
export type PolicyView = z.output<typeof policyShape>

export const putPatternInput = writtenPattern
export const patternShape = z.object({ ...patternRecord.shape, ...origin })
export type PatternView = z.output<typeof patternShape>

export const listPoliciesInput = z.strictObject({})
export const policyInput = z.strictObject({ id: text(255) })
export const listPatternsInput = z.strictObject({})
export const patternInput = z.strictObject({ name: text(255) })

const MAX_TRIED = 200

export const testPolicyInput = z.strictObject({
  context: z.strictObject({
    type: text(255).optional().meta({ description: 'mcp.tool_call if tool is given' }),
    upstream: text(255).optional(),
    tool: text(256).optional(),
    category: text(128).optional().meta({ description: 'That of the tool if absent' }),
    principal: text(300)
      .optional()
      .meta({ description: 'kind:id or the id of an agent; the caller if absent' }),
    agent: text(255).optional(),
    session: text(255).optional(),
    args: json.optional().meta({ description: 'The payload, or the arguments of the tool' }),
    inputs: createInput.shape.inputs.meta({ description: 'Those of the task' }),
    body: createInput.shape.body.meta({ description: 'That of the task' }),
    payload_pointer: createInput.shape.payload_pointer.meta({
      description: 'Rules that look at args of a task cannot tell what is there, and block',
    }),
    requirements: createInput.shape.requirements.meta({ description: 'Those of the task' }),
  }),
  rules: z
    .array(writtenRule)
    .max(MAX_TRIED)
    .optional()
    .meta({ description: 'To be tried instead of those that are there' }),
  patterns: z
    .array(writtenPattern)
    .max(MAX_TRIED)
    .optional()
    .meta({ description: 'Redaction patterns that these rules may name, besides those that are there' }),
})

export const testedShape = z.object({
  action: z.enum(ACTIONS),
  rule_id: z.string().nullable().meta({ description: 'Null: no rule decided, so the default did' }),
  reason: z.string(),
  args: json.meta({ description: 'What would be kept and handed on' }),
  redacted_fields: z.array(z.string()).readonly().meta({ description: 'JSON Pointers into args' }),
  redacts_result: z.boolean(),
  considered: z
    .array(z.object({ id: z.string(), applied: z.boolean(), why: z.string() }))
    .readonly()
    .meta({ description: 'Every rule in its order, and what became of it' }),
})

export type Tested = z.output<typeof testedShape>

/** A rule that can be put to use, or why it cannot. `hasPattern` knows the names of redaction patterns. */
export function readRule(input: unknown, hasPattern: (name: string) => boolean): RuleDraft {
  const draft = ruleOf(parse(writtenRule, withoutNulls(input)))
  checkRule(draft, hasPattern)
  return draft
}

export function checkRule(draft: RuleDraft, hasPattern: (name: string) => boolean, at = ''): void {
  const contradiction = contradictionIn(draft)
  if (contradiction !== undefined) throw invalid(at + contradiction.path, contradiction.problem)
  if (Buffer.byteLength(canonical(draft, `${at}rule`)) > MAX_RULE_BYTES) {
    throw invalid(`${at}condition`, `makes the rule larger than ${MAX_RULE_BYTES / 1024} KiB`)
  }
  for (const name of draft.redact?.patterns ?? []) {
    if (!hasPattern(name)) {
      throw invalid(
        `${at}redact.patterns`,
        `names the pattern ${name}, which does not exist; list_redaction_patterns shows those that do`,
      )
    }
  }
  try {
    new CompiledRule(draft, true)
  } catch (error) {
    if (error instanceof ConditionError) throw invalid(`${at}condition`, error.message)
    if (error instanceof PathError) throw invalid(`${at}redact.paths`, error.message)
    throw error
  }
}

/** A redaction pattern that can be put to use, or why it cannot. */
export async function readPattern(input: unknown): Promise<PatternDraft> {
  const draft = patternOf(parse(writtenPattern, withoutNulls(input)))
  await checkPattern(draft)
  return draft
}

export async function checkPattern(draft: PatternDraft): Promise<void> {
  const compile = await patternCompiler()
  try {
    compile(draft)
  } catch (error) {
    if (error instanceof PatternError) throw invalid('pattern', error.message)
    throw error
  }
}
