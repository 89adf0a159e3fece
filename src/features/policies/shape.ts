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
import { parse, time, withoutNulls } from '../input.ts'

/** The receipt of a change contains the rule before and after it. */
const MAX_RULE_BYTES = 24 * 1024

const origin = {
  source: z
    .enum(['api', 'file', 'built_in'])
    .describe(
      'api: written with the API; file: from the file of the operator; built_in. Only api can be changed with the API',
    ),
  version: z.int().nullable().describe('Number of the change, counted from 1; null unless source is api'),
  updated_at: time.nullable().describe('Time of the last change; null unless source is api'),
  updated_by: z
    .string()
    .nullable()
    .describe('Who made the last change, as kind:id; null unless source is api'),
}

/** The actions where no rule decides. */
export const policyDefaultsShape = z
  .object({
    plain: z.string().describe('For tasks that are not calls of upstream tools'),
    upstream: z.string().describe('For calls of upstream tools'),
  })
  .describe('The action where no rule decides')

export const policyShape = z.object({ ...ruleRecord.shape, ...origin })
export type PolicyView = z.output<typeof policyShape>

export const patternShape = z.object({ ...patternRecord.shape, ...origin })
export type PatternView = z.output<typeof patternShape>

/** Parses and checks a rule. `hasPattern` tells whether there is a redaction pattern of a name. */
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
        `names the unknown pattern ${name}; list_redaction_patterns lists all patterns`,
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

/** Parses and checks a redaction pattern. */
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
