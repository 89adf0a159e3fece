import type { ServerValues } from '../config/server.ts'
import { Fault } from '../core/errors.ts'
import { type FixedPolicies, NO_POLICIES } from '../features/policies/copy.ts'
import { readPattern, readRule } from '../features/policies/shape.ts'
import type { PolicyOptions } from '../features/policies/stored-policies.ts'
import { BUILT_IN_PATTERNS, isBuiltIn } from '../policy/built-in-patterns.ts'
import type { PatternDraft } from '../policy/pattern.ts'
import type { RuleDraft } from '../policy/rule.ts'
import { isObject } from '../util/guards.ts'
import { OperatorFile } from './operator-file.ts'

type PolicyValues = Pick<ServerValues, 'policies_file' | 'policy_default' | 'upstream_default'>

/** The rules with which a server starts. */
export async function openPolicy(values: PolicyValues): Promise<PolicyOptions> {
  const { policies_file, policy_default, upstream_default } = values
  return {
    defaults: { plain: policy_default, upstream: upstream_default },
    fixed: policies_file === null ? NO_POLICIES : await readPoliciesFile(policies_file),
  }
}

const HINT = 'It is a list of rules, or rules and patterns under these names; see docs/policy.md.'

/** The rules and patterns of a file: a list of rules, or both under their names. */
export async function readPoliciesFile(path: string): Promise<FixedPolicies> {
  const file = new OperatorFile(path, HINT)
  const { content } = file
  const lists = isObject(content) ? content : { rules: content }
  const unknown = Object.keys(lists).find((name) => name !== 'rules' && name !== 'patterns')
  if (unknown !== undefined) throw file.wrong(`has ${unknown} beside rules and patterns`)
  const patterns = await patternsOf(file, listOf(file, 'patterns', lists.patterns ?? []))
  const names = new Set([...BUILT_IN_PATTERNS, ...patterns].map(({ name }) => name))
  const rules: RuleDraft[] = []
  for (const [i, item] of listOf(file, 'rules', lists.rules ?? []).entries()) {
    const rule = await checked(file, `rules[${i}]`, item, 'id', async () =>
      readRule(item, (name) => names.has(name)),
    )
    if (rules.some(({ id }) => id === rule.id)) throw file.wrong(`has rule ${rule.id} twice`)
    rules.push(rule)
  }
  return { rules, patterns }
}

async function patternsOf(file: OperatorFile, items: readonly unknown[]): Promise<PatternDraft[]> {
  const patterns: PatternDraft[] = []
  for (const [i, item] of items.entries()) {
    const pattern = await checked(file, `patterns[${i}]`, item, 'name', () => readPattern(item))
    if (isBuiltIn(pattern.name)) throw file.wrong(`has pattern ${pattern.name}, which is built in`)
    if (patterns.some(({ name }) => name === pattern.name))
      throw file.wrong(`has pattern ${pattern.name} twice`)
    patterns.push(pattern)
  }
  return patterns
}

async function checked<Draft>(
  file: OperatorFile,
  place: string,
  item: unknown,
  key: string,
  read: () => Promise<Draft>,
): Promise<Draft> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const name = isObject(item) && typeof item[key] === 'string' ? ` (${item[key]})` : ''
    throw file.wrong(`${place}${name} ${error.message}`)
  }
}

function listOf(file: OperatorFile, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw file.wrong(`has ${name} that are no list`)
  return value
}
